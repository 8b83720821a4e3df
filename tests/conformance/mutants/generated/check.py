"""Tries the conformance suite against generated faults, and says how many it noticed.

  check.py SOURCE_DIR BUILD_DIR [--full] [--seconds S] [--seed N] [--jobs J] [--sites RE]

Without --full a sample that the seed draws, for two minutes beside what building and the control run take. A mutant that no
quick test notices is compiled alone: where the compiler makes the same of it, it changes nothing. With --full the others are
tried again, on all tests that reach them; who ends that early, by --seconds or ^C, goes on the next time where it was.
Exit code: 0 when none was missed.
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

HERE = os.path.dirname(os.path.abspath(__file__))
QUICK, ALL = 2, 60  # seconds of tests, as the control run took them, for each mutant
PROOF = 90          # seconds that a sample spends on finding those that the compiler makes the same of


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
        self.count, self.missed, self.unreached = collections.Counter(), [], collections.Counter()
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

    def kept(self, name):
        """A file of this library, suite and kind of run; those of others are removed."""
        digest = hashlib.sha256()
        for path in (self.library, self.runner):
            with open(path, 'rb') as file:
                digest.update(file.read())
        name += '-full-' if self.args.full else '-sample-'
        kept = os.path.join(self.out, name + digest.hexdigest()[:16])
        for other in os.listdir(self.out):
            if other.startswith(name) and os.path.join(self.out, other) != kept:
                os.remove(os.path.join(self.out, other))
        return kept

    def tried(self, results, *more):
        """Runs mutants, and gives what is known of each by now."""
        args = self.args
        seconds = args.seconds or (1e9 if args.full else 120)
        self.run([self.runner, self.library, self.sites, results, '--seed', str(args.seed), '--jobs', str(args.jobs), '--control',
                  self.kept('control'), '--seconds', str(seconds), *([] if args.full else ['--limit', '120']), *more])
        if not os.path.exists(results):
            return
        with open(results) as file:
            for line in file:
                fields = line.rstrip('\n').split('\t', 5)
                if len(fields) == 6:  # the last one may have been cut off
                    yield int(fields[0]), int(fields[1]), fields[2]

    def try_all(self):
        results = self.kept('results')
        if not self.args.full and os.path.exists(results):
            os.remove(results)
        self.table = None
        for site, mode, outcome in self.tried(results, '--each', str(QUICK), '--sites', self.args.sites):
            self.table = self.table or Table(self.sites)
            if outcome == 'unreached':
                self.unreached[self.table.sites[site][0]] += 1
            elif outcome == 'missed':
                self.missed.append((site, mode))
            else:
                self.count['caught'] += 1

    def leave_out_equal(self):
        listed = [m for m in self.missed if self.table.is_equal(*m)]
        self.missed = [m for m in self.missed if m not in set(listed)]
        self.say('%d missed, %d listed as equal; looking for others that the compiler makes the same of' % (len(self.missed), len(listed)))
        same = equal.equal_ones(self.args.source, self.out, self.missed, self.args.jobs, 1e9 if self.args.full else PROOF)
        self.missed = [m for m in self.missed if m not in same]
        self.count['equal'] = len(listed) + len(same)

    def try_missed_again(self):
        only = os.path.join(self.out, 'missed.txt')
        with open(only, 'w') as file:
            file.writelines('%d:%d\n' % m for m in self.missed)
        self.say('%d missed: trying all tests that reach them' % len(self.missed))
        for site, mode, outcome in self.tried(self.kept('again'), '--each', str(ALL), '--only', only):
            if outcome == 'caught' and (site, mode) in self.missed:
                self.missed.remove((site, mode))
                self.count['caught'] += 1

    def report(self):
        for site, mode in sorted(self.missed):
            print('missed  ' + self.table.show(site, mode))
        for where, n in sorted(self.unreached.items()):
            print('%s: %d sites that no test reaches' % (where, n))
        tried = self.count['caught'] + self.count['equal'] + len(self.missed)
        self.say('seed %d: tried %d, caught %d, equal %d, missed %d%s' % (
            self.args.seed, tried, self.count['caught'], self.count['equal'], len(self.missed),
            ' (interrupted: the next time it goes on)' if self.interrupted and self.args.full else ''))
        sys.exit(130 if self.interrupted else 1 if self.missed else 0)

    def main(self):
        if not self.run([sys.executable, os.path.join(HERE, 'generate.py'), self.args.source, self.out, str(self.args.jobs)]):
            sys.exit(130)
        self.say('trying')
        self.try_all()
        if not self.table:
            sys.exit('check-mutants: nothing was tried')
        if not self.interrupted:
            self.leave_out_equal()
        if self.args.full and self.missed and not self.interrupted:
            self.try_missed_again()
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
