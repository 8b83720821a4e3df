"""Finds where C++ sources can be changed, and writes copies in which every such site asks whether it is changed now.

It reads tokens, not C++: where a copy does not compile, the sites on the lines of the errors are left as they were
(generate.py). What it relies on is the house's format: spaces around binary operators, none around template brackets.
"""
import re

TOKEN = re.compile(
    r'(?P<space>\s+)|(?P<string>(?:u8|[LuU])?"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')'
    r'|(?P<number>(?:0[xX][0-9a-fA-F\']+(?:p[-+]?\d+)?|\d[\d\']*(?:\.\d*)?(?:[eE][-+]?\d+)?)[fFuUlLzZ]*)'
    r'|(?P<name>[A-Za-z_]\w*)|(?P<op>->\*|<<=|>>=|<=>|\.\.\.|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)', re.S)

BINARY = {'+': 'Add', '-': 'Sub', '*': 'Mul', '/': 'Div', '%': 'Mod', '&': 'And', '|': 'Or', '^': 'Xor', '<<': 'Shl',
          '<': 'Lt', '<=': 'Le', '>': 'Gt', '>=': 'Ge', '==': 'Eq', '!=': 'Ne', '>>': 'Shr'}
COMPARE = {'<': ('<=', 'inverse'), '<=': ('<',), '>': ('>=',), '>=': ('>',), '==': ('!=',), '!=': ('==',)}
OTHER = {'+': '-', '-': '+', '*': '+', '/': '*', '%': '/', '&': '|', '|': '&', '^': '|', '<<': '>>', '>>': '<<'}
NOT_CALLED = {'if', 'for', 'while', 'switch', 'return', 'sizeof', 'alignas', 'alignof', 'decltype', 'noexcept', 'catch',
              'static_assert', 'case', 'constexpr', 'throw', 'else', 'do', 'in', 'defined', 'new', 'delete'}
NO_STATEMENT = NOT_CALLED | {
    'break', 'continue', 'default', 'const', 'static', 'using', 'auto', 'typename', 'struct', 'class', 'enum', 'union',
    'template', 'goto', 'try', 'namespace', 'thread_local', 'unsigned', 'signed', 'public', 'private', 'protected', 'typedef',
    'extern', 'inline', 'friend', '__extension__', 'mutable', 'explicit', 'virtual', 'operator', 'int', 'bool', 'float', 'double',
    'char', 'void', 'long', 'short'}
PAIRS = {'(': ')', '[': ']', '{': '}'}


def without_comments(text):
    """Comments and preprocessor lines as spaces: places stay what they are."""
    def blank(match):
        return match.group(0) if match.group(0)[0] in '"\'' else re.sub(r'[^\n]', ' ', match.group(0))
    text = re.sub(r'"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', blank, text, flags=re.S)
    return re.sub(r'(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', lambda m: re.sub(r'[^\n]', ' ', m.group(0)), text)


class Token:
    __slots__ = ('kind', 'text', 'at', 'end', 'match', 'body', 'header')

    def __init__(self, kind, text, at):
        self.kind, self.text, self.at, self.end = kind, text, at, at + len(text)
        self.match = None    # of a bracket: the index of the other one
        self.body = False    # within a function
        self.header = False  # `{` that opens statements


def tokens_of(code):
    out, at = [], 0
    while at < len(code):
        m = TOKEN.match(code, at)
        if m.lastgroup != 'space':
            text = m.group(0)
            if text == '>' and m.end() < len(code) and code[m.end()] == '>' and code[at - 1] == ' ' and code[m.end() + 1] == ' ':
                text = '>>'
            out.append(Token(m.lastgroup, text, at))
            at += len(text)
        else:
            at = m.end()
    stack = []
    for i, t in enumerate(out):
        if t.kind == 'op' and t.text in PAIRS:
            stack.append(i)
        elif t.kind == 'op' and t.text in ')]}' and stack:
            j = stack.pop()
            out[j].match, t.match = i, j
    return out


class Site:
    def __init__(self, kind, at, end, before, modes):
        self.kind, self.at, self.end, self.before, self.modes = kind, at, end, before, modes
        self.edits = []  # (place, order, text): text put in; order: closing before opening, inner before outer
        self.replaced = None  # (at, end, text)


class Source:
    """One file: its tokens and the sites in it."""

    def __init__(self, text):
        self.text = text
        self.code = without_comments(text)
        self.tokens = tokens_of(self.code)
        self.sites = []
        self.mark_bodies()
        self.find()

    # ---- what is inside of functions ----

    def mark_bodies(self):
        stack, t = [], self.tokens
        start = 0  # of the statement
        for i, tok in enumerate(t):
            inside = bool(stack) and stack[-1]
            tok.body = inside
            if tok.text == '{' and tok.kind == 'op':
                words = [x.text for x in t[start:i]]
                prev = t[i - 1].text if i else ''
                if inside:
                    local = bool(words) and words[0] in ('struct', 'class', 'enum', 'union') and '(' not in words
                    tok.header = not local and prev in (')', 'else', 'do', 'try', ';', '{', '}', ':', 'mutable', 'const', 'noexcept') \
                        or (not local and self.returns_before(i))
                    stack.append(not local)
                else:
                    named = any(w in ('namespace', 'enum', 'union', 'extern') for w in words) or (
                        any(w in ('class', 'struct') for w in self.no_templates(words)) and '(' not in words)
                    tok.header = not named and (prev in (')', 'const', 'noexcept', 'override', 'mutable', 'try', '}') or self.returns_before(i))
                    stack.append(tok.header)
                start = i + 1
            elif tok.text == '}' and tok.kind == 'op':
                if stack:
                    stack.pop()
                start = i + 1
            elif tok.text == ';':
                start = i + 1

    def returns_before(self, i):
        """Whether `-> Type` stands before the brace."""
        for j in range(i - 1, max(i - 14, 0), -1):
            if self.tokens[j].text == '->':
                return self.tokens[j - 1].text in (')', 'mutable', 'noexcept', 'const')
            if self.tokens[j].text in (';', '{', '}', '(', ')', '='):
                return False
        return False

    @staticmethod
    def no_templates(words):
        out, depth = [], 0
        for k, w in enumerate(words):
            if w == '<':
                depth += 1
            elif w == '>':
                depth -= 1
            elif depth <= 0:
                out.append(w)
        return out

    # ---- sites ----

    def add(self, kind, i, j, modes):
        """A site of tokens i..j."""
        at, end = self.tokens[i].at, self.tokens[j].end
        site = Site(kind, at, end, self.text[at:end], modes)
        self.sites.append(site)
        return site

    def wrap(self, site, before, after):
        span = site.end - site.at
        site.edits = [(site.at, (1, -span), before), (site.end, (0, span), after)]

    def find(self):
        self.constant = self.constant_tokens()
        for i, tok in enumerate(self.tokens):
            if not tok.body or i in self.constant:
                continue
            if tok.kind == 'number' or tok.text in ('true', 'false'):
                self.literal(i)
            elif tok.kind == 'op' and tok.text in BINARY:
                self.binary(i)
            elif tok.text in ('&&', '||'):
                self.logical(i)
            elif tok.text == '!' and self.code[tok.end] not in ' =':
                site = self.add('not', i, i, {1: 'no !'})
                site.replaced = (tok.at, tok.end, '(mutant_on({n})) != !')
            elif tok.text == '(' and tok.match:
                self.parenthesis(i)
            elif tok.text == '[' and tok.match and i and (self.tokens[i - 1].kind == 'name' or self.tokens[i - 1].text in (')', ']')):
                if tok.match > i + 1 and self.tokens[i - 1].text not in NO_STATEMENT:
                    self.value('index', i + 1, tok.match - 1)
            elif tok.text == 'return' and self.tokens[i + 1].text not in (';', '{'):
                j = self.end_of_statement(i + 1)
                if j and not (self.tokens[i + 1].text == '[' or j == i + 2 and self.tokens[i + 1].kind != 'name'):
                    self.value('return', i + 1, j - 1)
            elif tok.text in ('min', 'max') and self.tokens[i - 1].text == '::' and self.tokens[i - 2].text == 'std':
                self.extremum(i)
        self.statements()

    def constant_tokens(self):
        """What must be a constant: constexpr declarations and conditions, static_assert, using, cases, array bounds."""
        out, t = set(), self.tokens
        for i, tok in enumerate(t):
            if tok.text in ('static_assert', 'using', 'case', 'template'):
                stop = ':' if tok.text == 'case' else ';'
                j = i
                while j < len(t) and t[j].text not in (stop, '{'):
                    out.add(j)
                    j += 1
            elif tok.text == 'constexpr' and i and t[i - 1].text == 'if':
                out.update(range(i, t[i + 1].match + 1))
            elif tok.text == 'constexpr' and tok.body:
                j = i
                while t[j].text != ';':
                    out.add(j)
                    j += 1
            elif tok.text == '[' and tok.match and tok.body and i > 1 and t[i - 1].kind == 'name' and (
                    (t[i - 2].kind == 'name' and t[i - 2].text not in NO_STATEMENT) or t[i - 2].text == '>') and self.code[t[i - 2].end] == ' ':
                out.update(range(i, tok.match + 1))
            elif tok.text in ('decltype', 'sizeof', 'noexcept', 'alignas') and t[i + 1].match:
                out.update(range(i, t[i + 1].match + 1))
        return out

    def literal(self, i):
        text = self.tokens[i].text
        if text in ('true', 'false'):
            modes = {1: 'false' if text == 'true' else 'true'}
        elif re.search(r'^[^xX]*[.eE]|p', text) and not text.lower().startswith('0x') or 'p' in text:
            modes = {1: 'twice', 2: 'a little more'}
        else:
            modes = {1: text + ' + 1', 2: text + ' - 1'}
        self.wrap(self.add('literal', i, i, modes), 'mutant_literal({n}, ', ')')

    def binary(self, i):
        tok = self.tokens[i]
        if not (self.code[tok.at - 1].isspace() and self.code[tok.end].isspace()) or self.tokens[i - 1].text in (',', '(', 'return', '=', 'operator'):
            return
        op = tok.text
        if op in COMPARE:
            modes = {1: COMPARE[op][0], 2: 'true', 3: 'false', 4: 'of narrower operands'}
            if op not in ('==', '!='):
                modes[5] = 'NaN turned round'
        else:
            modes = {1: OTHER[op], 2: 'left operand alone'}
            if op in '+-*/':
                modes.update({3: 'narrower', 4: 'zero skipped', 5: 'right operand alone'})
        site = self.add('operator', i, i, modes)
        site.replaced = (tok.at, tok.end, op + ' TenonOp{{{n}}} ' + op)

    # The places where an operand of && or || may begin and end.
    def operand_end(self, i):
        t = self.tokens
        while i < len(t):
            if t[i].text in PAIRS and t[i].kind == 'op':
                if t[i].match is None:
                    return None
                i = t[i].match
            elif t[i].text in ('&&', '||', '?', ':', ',', ';', ')', ']', '}', '='):
                return i - 1
            i += 1
        return None

    def operand_start(self, i):
        t = self.tokens
        while i >= 0:
            if t[i].text in (')', ']', '}') and t[i].kind == 'op':
                if t[i].match is None:
                    return None
                i = t[i].match
            elif t[i].text in ('&&', '||', '?', ':', ',', ';', '(', '[', '{', '=', 'return'):
                return i + 1
            i -= 1
        return None

    def logical(self, i):
        tok = self.tokens[i]
        if not (self.code[tok.at - 1].isspace() and self.code[tok.end].isspace()):
            return
        ends = (self.operand_start(i - 1), i - 1), (i + 1, self.operand_end(i + 1))
        for (first, last), side in zip(ends, ('left', 'right')):
            if first is None or last is None or last < first:
                continue
            site = self.add('condition', first, last, {1: 'true', 2: 'false'})
            self.wrap(site, 'mutant_condition({n}, ', ')')

    def arguments(self, i):
        """(first, last) tokens of each argument of the parenthesis or bracket i; commas of templates are taken for commas."""
        out, first, j, last = [], i + 1, i + 1, self.tokens[i].match
        while j < last:
            if self.tokens[j].text in PAIRS and self.tokens[j].kind == 'op' and self.tokens[j].match:
                j = self.tokens[j].match
            elif self.tokens[j].text == ',':
                out.append((first, j - 1))
                first = j + 1
            elif self.tokens[j].text == ';':
                return []
            j += 1
        if last > first:
            out.append((first, last - 1))
        return [a for a in out if a[0] <= a[1]]

    def parenthesis(self, i):
        prev = self.tokens[i - 1]
        if prev.text in ('if', 'while'):
            if not any(x.text in (';',) for x in self.tokens[i:self.tokens[i].match]) and not self.declares(i + 1):
                modes = {1: 'true', 2: 'false'} if prev.text == 'if' else {2: 'false'}
                self.wrap(self.add('condition', i + 1, self.tokens[i].match - 1, modes), 'mutant_condition({n}, ', ')')
            return
        if (prev.kind != 'name' or prev.text in NOT_CALLED) and prev.text not in ('>', ']', ')'):
            return
        if prev.text in ('lock_guard', 'unique_lock', 'scoped_lock'):
            return
        if prev.kind == 'name' and self.tokens[i - 2].text in ('lock_guard', 'unique_lock', 'scoped_lock'):
            self.wrap(self.add('lock', i + 1, self.tokens[i].match - 1, {1: 'no lock'}), 'mutant_lock({n}, ', ')')
            return
        args = self.arguments(i)
        for first, last in args:
            if not self.parameter(first, last) and not (first == last and self.tokens[first].kind in ('number', 'string')) and \
                    self.tokens[first].text not in ('true', 'false', '[', '{', '&', 'nullptr'):
                self.value('argument', first, last)
        for one, two in zip(args, args[1:]):
            self.swap(one, two)

    def parameter(self, first, last):
        t = self.tokens
        return any(x.text in ('auto', 'const', 'void', 'class', 'typename') for x in t[first:last + 1]) or self.declares(first)

    def swap(self, one, two):
        raw = []
        for first, last in (one, two):
            if last - first > 7 or any(self.tokens[k].text in ('(', '{', '=', '++', '--', '[', 'const', 'auto') or self.tokens[k].kind == 'string'
                                       for k in range(first, last + 1)) or self.declares(first):
                return
            raw.append(self.code[self.tokens[first].at:self.tokens[last].end])
        if raw[0] == raw[1]:
            return
        site = self.add('order', one[0], two[1], {1: 'the two arguments exchanged'})
        for (first, last), other in ((one, raw[1]), (two, raw[0])):
            span = self.tokens[last].end - self.tokens[first].at
            site.edits.append((self.tokens[first].at, (1, -span - 1), 'mutant_other({n}, '))
            site.edits.append((self.tokens[last].end, (0, span + 1), ', ' + other + ')'))

    def value(self, kind, first, last):
        if last < first or any(self.tokens[k].text in (';', '...') for k in range(first, last + 1)):
            return
        site = self.add(kind, first, last, {1: 'one more, or not', 2: 'one less', 3: 'narrower'})
        self.wrap(site, 'mutant_value({n}, ', ')')

    def extremum(self, i):
        t, j, of = self.tokens, i + 1, ''
        if t[j].text == '<':
            while t[j].text != '(':
                j += 1
            of = self.code[t[i + 1].at:t[j].at]
        if t[j].text != '(' or len(self.arguments(j)) != 2:
            return
        other = 'max' if t[i].text == 'min' else 'min'
        site = self.add('extremum', i - 2, j, {1: other, 2: 'the first', 3: 'the second'})
        site.replaced = (t[i - 2].at, t[j].end, 'mutant_' + t[i].text + of + '({n}, ')

    # ---- statements ----

    def declares(self, i):
        """Whether a declaration begins at token i."""
        t = self.tokens
        if t[i].text in ('const', 'auto', 'static', 'constexpr', 'struct', 'unsigned', 'int', 'bool', 'float', 'double', 'char', 'typename', 'void'):
            return True
        while t[i].kind == 'name' or t[i].text == '::':
            if t[i].kind == 'name' and t[i + 1].kind == 'name':
                return True
            i += 1
            if t[i].text == '<' and not self.code[t[i].at - 1].isspace():
                depth = 0
                while True:
                    depth += {'<': 1, '>': -1, '>>': -2}.get(t[i].text, 0)
                    i += 1
                    if depth <= 0:
                        break
                if t[i].kind == 'name':
                    return True
        return (t[i].text in ('*', '&', '&&') and not self.code[t[i].at - 1].isspace()) or \
            (t[i].kind == 'name' and t[i - 1].text == '>')

    def end_of_statement(self, i):
        t = self.tokens
        while i < len(t):
            if t[i].kind == 'op' and t[i].text in PAIRS:
                if t[i].match is None:
                    return None
                i = t[i].match
            elif t[i].kind == 'op' and t[i].text in ')]}':
                return None
            elif t[i].text == ';':
                return i
            i += 1
        return None

    def starts(self):
        """Tokens with which a statement within a function begins."""
        t, controls = self.tokens, set()
        for i, tok in enumerate(t):
            if tok.text in ('if', 'for', 'while') and tok.body:
                j = i + 1 if t[i + 1].text == '(' else i + 2
                if j < len(t) and t[j].match:
                    controls.add(t[j].match)
        for i, tok in enumerate(t[:-1]):
            nxt = t[i + 1]
            if not nxt.body or i + 1 in self.constant:
                continue
            if (tok.text == '{' and tok.header) or tok.text == 'else' or i in controls or \
                    tok.text == '}' or (tok.text == ';' and not self.in_for(i)):
                yield i + 1

    def in_for(self, i):
        """Whether the semicolon i is one of a for's header."""
        depth, j = 0, i
        while j >= 0:
            text = self.tokens[j].text
            if self.tokens[j].kind == 'op' and text in ')]}':
                if self.tokens[j].match is None:
                    return False
                j = self.tokens[j].match
            elif text == '(':
                return True
            elif text == '{':
                return False
            j -= 1
        return False

    def statements(self):
        t, last = self.tokens, None
        for i in self.starts():
            first = t[i].text
            if t[i].kind == 'op' and first not in ('(', '*', '++', '--'):
                continue
            if first == 'throw' or first in ('break', 'continue') or (first == 'return' and t[i + 1].text == ';'):
                pass
            elif first in NO_STATEMENT or t[i].kind in ('number', 'string') or self.declares(i):
                continue
            j = self.end_of_statement(i)
            if j is None:
                continue
            site = self.add('statement', i, j, {1: 'left out'})
            self.wrap(site, '{{ if (!mutant_on({n})) {{ ', ' }} }}')
            if last and last[1] == i - 1 and t[last[0] - 1].text in ('{', '}', ';') and j - last[0] < 60 and first not in ('throw', 'break', 'continue', 'return'):
                site = self.add('order', last[0], j, {1: 'the two statements exchanged'})
                raw = self.code[t[i].at:t[j].end]
                span = t[last[1]].end - t[last[0]].at
                site.edits = [(t[last[0]].at, (1, -span - 1), '{{ if (mutant_on({n})) {{ ' + raw.replace('{', '{{').replace('}', '}}') + ' }} }} '),
                              (t[i].at, (1, -(t[j].end - t[i].at) - 1), '{{ if (!mutant_on({n})) {{ '), (t[j].end, (0, t[j].end - t[i].at + 1), ' }} }}')]
            last = (i, j)


def write(source, sites, header):
    """The copy with these (number, site) in it; and for each of its lines the sites that put text there."""
    edits, gone = [], []
    for n, site in sites:
        for place, order, text in site.edits:
            edits.append((place, order, '\n' + text.format(n=n) + '\n', n))
        if site.replaced:
            at, end, text = site.replaced
            edits.append((at, (2, 0), '\n' + text.format(n=n) + '\n', n))
            gone.append((at, end))
    edits.sort(key=lambda e: (e[0], e[1]))
    ends = dict(gone)
    out, at, lines, line = [header], 0, {}, header.count('\n') + 1
    for place, _, text, n in edits:
        if place > at:
            piece = source.text[at:place]
            out.append(piece)
            line += piece.count('\n')
            at = place
        for k in range(text.count('\n') + 1):
            lines.setdefault(line + k, set()).add(n)
        out.append(text)
        line += text.count('\n')
        if place in ends and text.strip() and any(place == g[0] for g in gone) and _[0] == 2:
            at = ends[place]
    out.append(source.text[at:])
    return ''.join(out), lines
