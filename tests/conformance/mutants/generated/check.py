"""Tries the conformance suite against generated faults, and says how many it noticed.

  check.py SOURCE_DIR BUILD_DIR [--full] [--seconds S] [--seed N] [--jobs J] [--sites RE]

Without --full a sample that the seed draws, for two minutes beside what building and the control run take; each mutant gets
quick tests alone. With --full those that these miss are tried on all tests that reach them, many mutants at once, then on the
unit tests of the SDK's runtime, then on tests that take minutes. What is missed then is compiled alone: where the compiler makes
the same of it, it changes nothing. Who ends a full run early, by --seconds or ^C, goes on the next time where it was. Exit code:
0 when none was missed.
"""
import argparse
import collections
import hashlib
import os
import re
import subprocess
import sys
import time
import equal
import unit

HERE = os.path.dirname(os.path.abspath(__file__))
QUICK = 0.3  # seconds of tests, as the control run took them, for each mutant
GROUP = 100  # mutants that all tests try at once
LONG = 120   # seconds of time limit: tests with more are tried last
PROOF = 90   # seconds that a sample spends on finding those that the compiler makes the same of


class Table:
    """The sites, and what is known to change nothing."""

    def __init__(self, path):
        self.sites = {}
        with open(path) as file:
            for line in file:
                number, where, at, kind, name, modes, before = line.rstrip('\n').split('\t')
                self.sites[int(number)] = (where, int(at), kind, name, self.modes(modes), before)
        self.equal = []  # patterns
        with open(os.path.join(HERE, 'equal.list')) as file:
            for line in file:
                if line.strip() and not line.startswith('#'):
                    key, _ = line.rstrip('\n').split(' :: ')
                    self.equal.append(re.compile('.*'.join(re.escape(part) for part in key.split('**')) + '$'))

    @staticmethod
    def modes(text):
        out = {}
        for part in text.split('|'):
            if part[:1].isdigit() and part[1:2] == '=':
                last = int(part[0])
                out[last] = part[2:]
            else:
                out[last] += '|' + part
        return out

    def key(self, site, mode):
        _, _, _, name, modes, _ = self.sites[site]
        return '%s: %s' % (name, modes[mode])

    def is_equal(self, site, mode):
        key = self.key(site, mode)
        return any(pattern.match(key) for pattern in self.equal)

    def show(self, site, mode):
        where, line, kind, _, modes, before = self.sites[site]
        return "%s:%d: %s '%s': %s\n    %s" % (where, line, kind, before, modes[mode], self.key(site, mode))


class Check:
    def __init__(self, args):
        self.args, self.start = args, time.monotonic()
        self.out = os.path.join(os.path.abspath(args.build), 'mutants-generated')
        self.runner = os.path.join(args.build, 'bin', 'mutant_runner')
        self.library, self.sites = (os.path.join(self.out, name) for name in ('example.so', 'sites.tsv'))
        self.caught, self.equal, self.missed = set(), set(), []  # mutants: (site, mode)
        self.by_units = set()   # of those that are caught: by unit tests alone
        self.unreached = set()  # sites
        self.interrupted = False

    def say(self, text):
        print('%4.0f s  %s' % (time.monotonic() - self.start, text), flush=True)

    def run(self, command):
        """Whether it came to its end: ^C is for it, too."""
        try:
            code = subprocess.run(command).returncode
        except KeyboardInterrupt:
            code = None
        self.interrupted = code is None or code < 0 or code == 130
        if code and not self.interrupted:
            sys.exit('check-mutants: %s failed' % command[0])
        return not self.interrupted

    def kept(self, name, *of):
        """A file of these others, or of this library, suite and kind of run; what was kept of earlier ones is removed."""
        digest = hashlib.sha256()
        for path in of or (self.library, self.runner):
            with open(path, 'rb') as file:
                digest.update(file.read())
        name += '-' if of else '-full-' if self.args.full else '-sample-'
        kept = os.path.join(self.out, name + digest.hexdigest()[:16])
        for other in os.listdir(self.out):
            if other.startswith(name) and os.path.join(self.out, other) != kept:
                os.remove(os.path.join(self.out, other))
        return kept

    def tried(self, results, *more):
        """Runs mutants, and gives what is known of each by now."""
        args = self.args
        self.run([self.runner, self.library, self.sites, results, '--seed', str(args.seed), '--jobs', str(args.jobs), '--seconds',
                  str(max(self.end - time.monotonic(), 0)), *more])
        if args.full and time.monotonic() >= self.end:
            self.interrupted = True
        if not os.path.exists(results):
            return
        with open(results) as file:
            for line in file:
                fields = line.rstrip('\n').split('\t', 5)
                if len(fields) == 6:  # the last one may have been cut off
                    yield int(fields[0]), int(fields[1]), fields[2]

    def try_each(self):
        results = self.kept('results')
        if not self.args.full and os.path.exists(results):
            os.remove(results)
        self.table = None
        for site, mode, outcome in self.tried(results, '--each', str(QUICK), '--sites', self.args.sites, '--limit', str(LONG), '--control',
                                              self.kept('control', self.library, self.runner)):
            self.table = self.table or Table(self.sites)
            if outcome == 'unreached':
                self.unreached.add(site)
            elif outcome == 'missed':
                self.missed.append((site, mode))
            else:
                self.caught.add((site, mode))

    def leave_out_listed(self):
        listed = {m for m in self.missed if self.table.is_equal(*m)}
        self.missed = [m for m in self.missed if m not in listed]
        self.equal |= listed
        self.say('%d missed, %d of them listed as equal' % (len(self.missed) + len(listed), len(listed)))

    def list_of(self, name, mutants):
        path = os.path.join(self.out, name)
        with open(path, 'w') as file:
            file.writelines('%d:%d\n' % m for m in mutants)
        return path

    def try_groups(self):
        """On all tests that reach them."""
        self.say('%d missed: trying all tests that reach them' % len(self.missed))
        missed = self.list_of('missed.txt', self.missed)
        self.take_caught(self.tried(self.kept('grouped'), '--group', str(GROUP), '--only', missed, '--limit', str(LONG), '--control',
                                    self.kept('control', self.library, self.runner)))

    def try_long(self):
        """Tests that take minutes, and what they alone have values for, which unit tests are asked before."""
        known = self.list_of('known.txt', self.caught | self.equal)
        options = ['--sites', self.args.sites, '--above', str(LONG), '--control', self.kept('long-control', self.library, self.runner)]
        only = os.path.join(self.out, 'long.txt')
        if not self.run([self.runner, self.library, self.sites, os.devnull, *options, '--without', known, '--list', only]):
            return
        with open(only) as file:
            new = {tuple(map(int, line.split(':'))) for line in file} - set(self.missed)
        self.say('%d reach values that only tests of minutes have' % len(new))
        self.missed += sorted(new)
        self.unreached -= {site for site, _ in new}
        self.leave_out_listed()
        if new and self.missed:
            self.try_units()
        self.say('%d missed: trying tests that take minutes' % len(self.missed))
        # One by one: most are told by the same test, which a group would run again and again to find by which of them. And alone,
        # as such tests take most of the memory.
        self.take_caught(self.tried(self.kept('long'), '--each', '1e9', '--jobs', '1', '--only', self.list_of('long.txt', self.missed),
                                    *options))

    def take_caught(self, results):
        for site, mode, outcome in results:
            if outcome == 'unreached' or (site, mode) in self.caught | self.equal:
                continue
            self.unreached.discard(site)
            if outcome == 'missed' and (site, mode) not in self.missed:
                self.missed.append((site, mode))
            if outcome == 'caught':
                self.missed = [m for m in self.missed if m != (site, mode)]
                self.caught.add((site, mode))

    def answers(self, kept, ask):
        """Whether each that is missed is so, by ask(mutants, told), which goes on where it was."""
        known = {}
        if os.path.exists(kept):
            with open(kept) as file:
                known = {(int(site), int(mode)): answer == 'yes' for site, mode, answer in (line.split() for line in file)}
        with open(kept, 'a') as file:
            def told(mutant, is_so):
                known[mutant] = is_so
                print(*mutant, 'yes' if is_so else 'no', file=file, flush=True)
            try:
                ask([m for m in self.missed if m not in known], told)
            except KeyboardInterrupt:
                self.interrupted = True
        return {m for m in self.missed if known.get(m)}

    def try_units(self):
        """On the runtime's own tests, which ask for what the ABI does not show."""
        self.say("%d missed: trying the runtime's unit tests" % len(self.missed))
        program = unit.link(os.path.abspath(self.args.source), os.path.abspath(self.args.build), self.out, self.args.jobs)
        if unit.notice(program):
            sys.exit('check-mutants: the unit tests of the runtime fail without a change')
        noticed = self.answers(self.kept('units', program), lambda mutants, told: unit.try_each(program, mutants, self.args.jobs, told))
        self.missed = [m for m in self.missed if m not in noticed]
        self.caught |= noticed
        self.by_units |= noticed

    def leave_out_same(self):
        """Those that the compiler makes the same of."""
        self.say('%d missed: looking for those that the compiler makes the same of' % len(self.missed))
        same = self.answers(self.kept('same', self.library), lambda mutants, told: equal.equal_ones(
            self.args.source, self.out, mutants, self.args.jobs, 1e9 if self.args.full else PROOF, told))
        self.missed = [m for m in self.missed if m not in same]
        self.equal |= same

    def report(self):
        for site, mode in sorted(self.missed):
            print('missed  ' + self.table.show(site, mode))
        for where, n in sorted(collections.Counter(self.table.sites[site][0] for site in self.unreached).items()):
            print('%s: %d sites that no test reaches' % (where, n))
        tried = len(self.caught) + len(self.equal) + len(self.missed)
        self.say('seed %d: tried %d, caught %d%s, equal %d, missed %d%s' % (
            self.args.seed, tried, len(self.caught), ' (%d of them by unit tests)' % len(self.by_units) if self.by_units else '',
            len(self.equal), len(self.missed),
            ' (interrupted: the next time it goes on)' if self.interrupted and self.args.full else ''))
        sys.exit(130 if self.interrupted else 1 if self.missed else 0)

    def main(self):
        if not self.run([sys.executable, os.path.join(HERE, 'generate.py'), self.args.source, self.out, str(self.args.jobs)]):
            sys.exit(130)
        self.say('trying')
        self.end = time.monotonic() + (self.args.seconds or (1e9 if self.args.full else 120))
        self.try_each()
        if not self.table:
            sys.exit('check-mutants: nothing was tried')
        self.leave_out_listed()
        if self.args.full and self.missed and not self.interrupted:
            self.try_groups()
        if self.args.full and self.missed and not self.interrupted:
            self.try_units()
        if self.args.full and not self.interrupted:
            self.try_long()
        if self.missed and not self.interrupted:
            self.leave_out_same()
        self.report()


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument('source')
    parse.add_argument('build')
    parse.add_argument('--full', action='store_true')
    parse.add_argument('--seconds', type=float)
    parse.add_argument('--seed', type=int, default=1)
    parse.add_argument('--jobs', type=int, default=os.cpu_count())
    parse.add_argument('--sites', default='')
    Check(parse.parse_args()).main()


main()
