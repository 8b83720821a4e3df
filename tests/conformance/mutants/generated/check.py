"""Tries the conformance suite against generated faults, and says how many it noticed.

  check.py SOURCE_DIR BUILD_DIR [--full] [--seconds S] [--seed N] [--jobs J] [--sites RE]

Without --full a sample that the seed draws, for two minutes beside what building and the control run take. A mutant that no
quick test notices is tried again on all tests that reach it, with --full. Exit code: 0 when none was missed.
"""
import argparse
import collections
import hashlib
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
QUICK, ALL = 2, 60  # seconds of tests, as the control run took them, for each mutant


class Table:
    """The sites, and what is known to change nothing."""

    def __init__(self, path):
        self.sites = {}
        with open(path) as file:
            for line in file:
                number, where, at, kind, name, modes, before = line.rstrip('\n').split('\t')
                self.sites[int(number)] = (where, int(at), kind, name, self.modes(modes), before)
        self.equal = {}
        with open(os.path.join(HERE, 'equal.list')) as file:
            for line in file:
                if line.strip() and not line.startswith('#'):
                    name, reason = line.rstrip('\n').split(' :: ')
                    self.equal[name] = reason

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

    def show(self, site, mode):
        where, line, kind, name, modes, before = self.sites[site]
        return "%s:%d: %s '%s': %s\n    %s" % (where, line, kind, before, modes[mode], self.key(site, mode))


def run(command, **how):
    if subprocess.run(command, **how).returncode:
        sys.exit('check-mutants: %s failed' % command[0])


def control_of(out, library, runner, full):
    """Where the control run of this library and suite is kept; those of others are removed."""
    digest = hashlib.sha256()
    for path in (library, runner):
        with open(path, 'rb') as file:
            digest.update(file.read())
    kind = 'full' if full else 'sample'
    kept = os.path.join(out, 'control-%s-%s.bin' % (kind, digest.hexdigest()[:16]))
    for other in os.listdir(out):
        if other.startswith('control-' + kind) and os.path.join(out, other) != kept:
            os.remove(os.path.join(out, other))
    return kept


def results_of(path):
    with open(path) as file:
        for line in file:
            site, mode, outcome, tried, reach, text = line.rstrip('\n').split('\t', 5)
            yield int(site), int(mode), outcome, int(tried), int(reach), text


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument('source')
    parse.add_argument('build')
    parse.add_argument('--full', action='store_true')
    parse.add_argument('--seconds', type=float)
    parse.add_argument('--seed', type=int, default=1)
    parse.add_argument('--jobs', type=int, default=os.cpu_count())
    parse.add_argument('--sites', default='')
    args = parse.parse_args()
    out = os.path.join(os.path.abspath(args.build), 'mutants-generated')
    run([sys.executable, os.path.join(HERE, 'generate.py'), args.source, out, str(args.jobs)])
    runner, library = os.path.join(args.build, 'bin', 'mutant_runner'), os.path.join(out, 'example.so')
    control = control_of(out, library, runner, args.full)
    seconds = args.seconds or (1e9 if args.full else 120)
    common = ['--seed', str(args.seed), '--jobs', str(args.jobs), '--control', control] + ([] if args.full else ['--limit', '120'])
    tsv, first, again = (os.path.join(out, n) for n in ('sites.tsv', 'results.tsv', 'again.tsv'))
    run([runner, library, tsv, first, '--each', str(QUICK), '--seconds', str(seconds), *common, '--sites', args.sites])
    table = Table(tsv)
    count, missed, unreached = collections.Counter(), [], collections.Counter()
    for site, mode, outcome, tried, reach, text in results_of(first):
        if outcome == 'unreached':
            unreached[table.sites[site][0]] += 1
        elif outcome == 'missed' and table.key(site, mode) in table.equal:
            count['equal'] += 1
        elif outcome == 'missed':
            missed.append((site, mode))
        else:
            count['caught'] += 1
    if args.full and missed:
        only = os.path.join(out, 'missed.txt')
        with open(only, 'w') as file:
            file.writelines('%d:%d\n' % m for m in missed)
        run([runner, library, tsv, again, '--each', str(ALL), '--only', only, *common])
        missed = []
        for site, mode, outcome, *_ in results_of(again):
            if outcome == 'caught':
                count['caught'] += 1
            elif outcome == 'missed':
                missed.append((site, mode))
    for site, mode in sorted(missed):
        print('missed  ' + table.show(site, mode))
    for where, n in sorted(unreached.items()):
        print('%s: %d sites that no test reaches' % (where, n))
    tried = count['caught'] + count['equal'] + len(missed)
    print('seed %d: tried %d, caught %d, equal %d, missed %d' % (args.seed, tried, count['caught'], count['equal'], len(missed)))
    sys.exit(1 if missed else 0)


main()
