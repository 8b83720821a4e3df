// Parallel text as it is kept: lines of two files, tables, gettext catalogues, translation memories; and damage to each.
#include "data/text/pair_reader.h"

#include <gtest/gtest.h>

#include <cstring>

#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

// What a reader gives, as "source|target" lines, and the error that ends it.
struct Found {
  std::string pairs, error;
};
Found all_of(Result<PairReaderPtr> reader) {
  Found out;
  if (!reader.ok()) return {"", reader.status().message()};
  for (TextPair pair;;) {
    const Result<bool> more = (*reader)->next(pair);
    if (!more.ok()) out.error = more.status().message();
    if (!more.ok() || !*more) return out;
    out.pairs += pair.source + "|" + (pair.bad ? std::string("bad: ") + pair.bad : pair.target) + "\n";
  }
}

class PairText : public testing::Test {
 protected:
  // Errors name files without their directory.
  Found short_names(Found found) const {
    const std::string prefix = directory_.path() + "/";
    for (size_t at; (at = found.error.find(prefix)) != std::string::npos;) found.error.erase(at, prefix.size());
    return found;
  }
  Found lines(const std::string& source, const std::string& target) const {
    return short_names(all_of(read_line_pairs(directory_.write("s", source), directory_.write("t", target))));
  }
  Found tsv(const std::string& text) const {
    return short_names(all_of(read_tsv_pairs(directory_.write("p.tsv", text))));
  }
  Found jsonl(const std::string& text) const {
    return short_names(all_of(read_jsonl_pairs(directory_.write("p.jsonl", text), "document", "summary")));
  }
  Found mo(const std::string& bytes) const {
    return short_names(all_of(read_mo_pairs(directory_.write("de.mo", bytes))));
  }
  Found tmx(const std::string& text) const {
    return short_names(all_of(read_tmx_pairs(directory_.write("m.tmx", text), "en", "de")));
  }

  TemporaryDirectory directory_;
};

TEST_F(PairText, OfJsonLinesAreTheirMembers) {
  const Found found = jsonl(
      "{\"document\": \"\\u00fc\\n\", \"summary\": \"s\", \"id\": [1]}\r\n{\"summary\": \"\", \"document\": \"d\"}");
  EXPECT_EQ(found.pairs, "\u00fc\n|s\nd|\n");
  EXPECT_EQ(found.error, "");
  const std::string expected = ": expected an object with the texts 'document' and 'summary', found ";
  EXPECT_EQ(jsonl("{\"document\": \"d\"}").error, "p.jsonl:1" + expected + "no 'summary'");
  EXPECT_EQ(jsonl("{\"document\": 1}").error, "p.jsonl:1" + expected + "a 'document' that is number");
  EXPECT_EQ(jsonl("{\"document\": \"d\", \"summary\": \"s\"}\n[]").error, "p.jsonl:2" + expected + "array");
  EXPECT_EQ(jsonl("{\"document\": \"d").error, "p.jsonl:1" + expected + "JSON that ends in the middle");
  EXPECT_EQ(jsonl("{\"document\": \"\xff\", \"summary\": \"s\"}").error,
            "p.jsonl:1" + expected + "no valid JSON in UTF-8");
  EXPECT_EQ(jsonl("\n").error, "p.jsonl:1" + expected + "no valid JSON in UTF-8");
}

TEST_F(PairText, OfLinesGoTogetherByNumber) {
  const Found found = lines("one\n\nthree", "eins\r\nzwei\r\n\r\n");
  EXPECT_EQ(found.pairs, "one|eins\r\n|zwei\r\nthree|\r\n");
  EXPECT_EQ(found.error, "");
  EXPECT_EQ(lines("", "").pairs, "");
  EXPECT_EQ(lines("\xef\xbb\xbfone\n", "\xef\xbb\xbf").error,
            "s:1: a line without one in the other file, which ends at t:0; expected as many lines in both");
}

TEST_F(PairText, OfUnequalFilesAreAnErrorThatNamesBothEnds) {
  EXPECT_EQ(lines("a\nb\nc\n", "a\nb\n").error,
            "s:3: a line without one in the other file, which ends at t:2; expected as many lines in both");
  EXPECT_EQ(lines("a\n", "a\nb\n").error,
            "t:2: a line without one in the other file, which ends at s:1; expected as many lines in both");
}

TEST_F(PairText, OfALineThatNeverEndsAreRefused) {
  const std::string most(1 << 20, 'x');
  EXPECT_EQ(lines(most + "\n", "a\n").error, "");
  EXPECT_EQ(lines("a\n" + most + "x\n", "a\nb\n").error, "s:2: a line of more than 1048576 bytes");
}

TEST_F(PairText, OfATableAreItsFirstTwoColumns) {
  EXPECT_EQ(tsv("one\teins\ntwo\tzwei\tnote\n\tleer\n").pairs, "one|eins\ntwo|zwei\n|leer\n");
}

TEST_F(PairText, OfATableLineWithoutATabIsBadAndTheNextIsNot) {
  const Found found = tsv("one\teins\nno tab\n\ntwo\tzwei\n");
  EXPECT_EQ(found.pairs, "one|eins\nno tab|bad: no_tab\n|bad: no_tab\ntwo|zwei\n");
  EXPECT_EQ(found.error, "");
}

// ---- gettext: by the description of the format in its manual ----
std::string u32(uint32_t x, bool big_endian) {
  std::string out(4, '\0');
  for (int i = 0; i < 4; ++i) out[static_cast<size_t>(big_endian ? 3 - i : i)] = static_cast<char>(x >> 8 * i);
  return out;
}
std::string catalogue(const std::vector<std::pair<std::string, std::string>>& messages, bool big_endian = false) {
  const auto n = static_cast<uint32_t>(messages.size());
  std::string originals, translations, strings;
  for (const bool translated : {false, true})
    for (const auto& [original, translation] : messages) {
      const std::string& text = translated ? translation : original;
      (translated ? translations : originals) += u32(static_cast<uint32_t>(text.size()), big_endian) +
                                                 u32(28 + 16 * n + static_cast<uint32_t>(strings.size()), big_endian);
      strings += text + '\0';
    }
  std::string head;
  for (const uint32_t x : {0x950412deu, 0u, n, 28u, 28 + 8 * n, 0u, 28 + 16 * n}) head += u32(x, big_endian);
  return head + originals + translations + strings;
}
const std::vector<std::pair<std::string, std::string>> kMessages = {
    {"", "Content-Type: text/plain; charset=UTF-8\n"},
    {"File", "Datei"},
    {std::string("menu\x04Open"), "\u00d6ffnen"},
    {std::string("%d file\0%d files", 16), std::string("%d Datei\0%d Dateien", 19)}};

TEST_F(PairText, OfACatalogueAreItsMessagesInEitherByteOrder) {
  const std::string expected = "File|Datei\nOpen|\u00d6ffnen\n%d file|%d Datei\n";
  EXPECT_EQ(mo(catalogue(kMessages)).pairs, expected);
  EXPECT_EQ(mo(catalogue(kMessages, true)).pairs, expected);
  EXPECT_EQ(mo(catalogue({})).error, "");
}

// As GTK ("_") and Qt ("&") mark the letter that a label is chosen by.
TEST_F(PairText, OfACatalogueLoseTheMarksOfTheirKeys) {
  EXPECT_EQ(
      mo(catalogue(
             {{"_Save", "_Speichern"}, {"Save _as", "S_peichern unter"}, {"&Open", "Ö&ffnen"}, {"Sa_ve", "保存(_S)"}}))
          .pairs,
      "Save|Speichern\nSave as|Speichern unter\nOpen|Öffnen\nSave|保存(S)\n");
  // What is no mark of a key stays: a name that is the same on both sides, one on one side alone, several, an entity.
  const std::string kept =
      "set max_size|max_size setzen\n_Save|Speichern\n_a _b|_c _d\nR&D|R&D\nthis &amp; that|dies &amp; das\na_|b_\n";
  EXPECT_EQ(mo(catalogue({{"set max_size", "max_size setzen"},
                          {"_Save", "Speichern"},
                          {"_a _b", "_c _d"},
                          {"R&D", "R&D"},
                          {"this &amp; that", "dies &amp; das"},
                          {"a_", "b_"}}))
                .pairs,
            kept);
}

TEST_F(PairText, OfACatalogueInAnotherCharsetBecomeUtf8) {
  const auto in = [&](const std::string& charset, const std::string& text) {
    return mo(catalogue({{"", "Content-Type: text/plain; charset=" + charset + "\n"}, {"Open", text}}));
  };
  EXPECT_EQ(in("ISO-8859-1",
               "\xd6"
               "ffnen")
                .pairs,
            "Open|\u00d6ffnen\n");
  EXPECT_EQ(in("KOI8-R", "\xf2").pairs, "Open|\u0420\n");
  EXPECT_EQ(in("EUC-JP", "\xa5\xd5").pairs, "Open|\u30d5\n");
  for (const char* unknown : {"klingon", "../../utf-8", "utf-8//translit"})
    EXPECT_EQ(in(unknown, "b").error, std::string("de.mo: its text is in ") + unknown +
                                          ", which iconv does not know; msgconv --to-code=UTF-8 makes it UTF-8");
}

TEST_F(PairText, OfADamagedCatalogueAreAnErrorWhereverItIsCut) {
  const std::string whole = catalogue(kMessages);
  for (size_t size = 0; size + 1 < whole.size(); ++size) EXPECT_NE(mo(whole.substr(0, size)).error, "") << size;
  EXPECT_EQ(mo("").error, "de.mo: too short for a head of 20 bytes");
  EXPECT_EQ(mo(std::string(40, 'x')).error, "de.mo: expected a compiled catalogue, found other first bytes");
}

TEST_F(PairText, OfACatalogueWithAbsurdNumbersAreAnError) {
  for (size_t at = 4; at < 28 + 8 * 2 * kMessages.size(); at += 4)
    for (const uint32_t number : {0x7fffffffu, 0x80000000u, 0xfffffff8u, 0xffffffffu}) {
      std::string bytes = catalogue(kMessages);
      bytes.replace(at, 4, u32(number, false));
      const Found found = mo(bytes);
      const bool read = at < 20 || at >= 28;  // the hash table is not
      EXPECT_EQ(!found.error.empty(), read) << at << " " << number << " " << found.pairs;
    }
}

TEST_F(PairText, OfACatalogueWhoseMessagesOverlapAreAnError) {
  std::string bytes = catalogue({{"a", std::string(100, 'x')}, {"b", "y"}});
  bytes.replace(28 + 16, 16, u32(100, false) + u32(62, false) + u32(100, false) + u32(62, false));
  EXPECT_EQ(mo(bytes).error, "de.mo: its messages have more bytes than the file: they overlap");
}

// ---- TMX ----
std::string memory(const std::string& units) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<tmx version=\"1.4\"><header srclang=\"en\"/><body>\n" + units +
         "</body></tmx>\n";
}
std::string unit(const std::string& en, const std::string& de) {
  return "<tu><tuv xml:lang=\"en\"><seg>" + en + "</seg></tuv><tuv xml:lang=\"de\"><seg>" + de + "</seg></tuv></tu>\n";
}

TEST_F(PairText, OfATranslationMemoryAreTheSegmentsOfBothLanguages) {
  EXPECT_EQ(tmx(memory(unit("House &amp; home", "Haus &#38; Hof") + unit("", "leer"))).pairs,
            "House & home|Haus & Hof\n|leer\n");
  EXPECT_EQ(tmx(memory("<tu><tuv lang=\"DE_at\"><seg>Semmel</seg></tuv><tuv xml:lang=\"fr\"><seg>pain</seg></tuv>"
                       "<tuv xml:lang=\"en-GB\"><seg>roll</seg></tuv><tuv xml:lang=\"en\"><seg>bun</seg></tuv></tu>"))
                .pairs,
            "roll|Semmel\n");
  EXPECT_EQ(tmx(memory("<tu><tuv xml:lang=\"en\"><seg>alone</seg></tuv></tu><tu/>")).pairs, "");
  EXPECT_EQ(
      tmx(memory("<tu><tuv xml:lang=\"eng\"><seg>other</seg></tuv><tuv xml:lang=\"de\"><seg>x</seg></tuv></tu>")).pairs,
      "");
}

TEST_F(PairText, OfATranslationMemoryWithoutALanguageAreAnErrorThatNamesThoseThereAre) {
  EXPECT_EQ(
      tmx(memory("<tu><tuv xml:lang=\"en-US\"><seg>a</seg></tuv><tuv xml:lang=\"fr\"><seg>b</seg></tuv></tu>")).error,
      "m.tmx: expected texts of language 'de', found those of en-us, fr");
}

TEST_F(PairText, OfATranslationMemoryHaveNoCodesInThem) {
  EXPECT_EQ(
      tmx(memory(unit("a <bpt i=\"1\">&lt;b></bpt>bold<ept i=\"1\">&lt;/b></ept> <hi>word</hi>", "<![CDATA[<x>]]>")))
          .pairs,
      "a bold word|<x>\n");
}

TEST_F(PairText, OfATranslationMemoryInUtf16) {
  std::string utf16 = "\xff\xfe";
  for (const char c : "<tmx>" + unit("\x41", "B") + "</tmx>") utf16 += std::string{c, '\0'};
  EXPECT_EQ(tmx(utf16).pairs, "A|B\n");
  EXPECT_EQ(tmx("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><tmx>" + unit("a", "\xe4") + "</tmx>").pairs,
            "a|\u00e4\n");
}

TEST_F(PairText, OfATranslationMemoryWithEntitiesOfItsOwnAreRefused) {
  const std::string laughs =
      "<?xml version=\"1.0\"?>\n<!DOCTYPE tmx [\n<!ENTITY a \"ha\">\n<!ENTITY b "
      "\"&a;&a;&a;&a;&a;&a;&a;&a;\">\n]>\n<tmx>" +
      unit("&b;", "x") + "</tmx>";
  EXPECT_EQ(tmx(laughs).error, "m.tmx:3: defines the entity 'a', which is not expanded");
  EXPECT_EQ(tmx("<!DOCTYPE tmx [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><tmx>" + unit("&a;", "x") + "</tmx>").error,
            "m.tmx:1: defines the entity 'a', which is not expanded");
  EXPECT_EQ(tmx("<!DOCTYPE tmx SYSTEM \"tmx14.dtd\"><tmx>" + unit("a", "b") + "</tmx>").pairs, "a|b\n");
}

TEST_F(PairText, OfATranslationMemoryThatIsCutOffAreAnError) {
  const std::string whole = memory(unit("a", "b") + unit("c", "d"));
  for (size_t size = 0; size + 2 < whole.size(); ++size) EXPECT_NE(tmx(whole.substr(0, size)).error, "") << size;
  EXPECT_EQ(tmx("<html></html>").error, "m.tmx: expected a translation memory, found no <tmx> in it");
  EXPECT_EQ(tmx(memory("<tu></body>")).error, "m.tmx:3: mismatched tag");
}

TEST_F(PairText, OfAnAbsurdTranslationMemoryAreAnError) {
  EXPECT_EQ(tmx(memory(unit(std::string((1 << 20) + 1, 'x'), "y"))).error,
            "m.tmx:3: a segment of more than 1048576 bytes");
  EXPECT_EQ(tmx("<tmx a=\"" + std::string(3 << 20, 'x')).error, "m.tmx:1: a tag of more than 1048576 bytes");
  std::string deep = "<tmx>";
  for (int i = 0; i < 1000; ++i) deep += "<a>";
  EXPECT_EQ(tmx(deep).error, "m.tmx:1: elements within more than 256 others");
  EXPECT_EQ(tmx(memory("<tu><tuv xml:lang=\"en\"><seg>a<tuv xml:lang=\"de\">b</tuv>c</seg></tuv></tu>")).error, "");
}

TEST_F(PairText, OfWhatIsNoFileAreAnError) {
  EXPECT_NE(all_of(read_tsv_pairs(directory_ / "none.tsv")).error, "");
  EXPECT_NE(all_of(read_mo_pairs(directory_.path())).error, "");
}

}  // namespace
}  // namespace tenon
