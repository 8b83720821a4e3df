"""Mutants on the unit tests of the SDK's runtime: what a conformance suite cannot ask for, they do."""
import concurrent.futures
import glob
import os
import shlex
import subprocess

SKIPPED = ['RandomGraphs.EqualAnInterpreterOnThreeThreads']  # takes seconds, and tries what it does on one thread
LIMIT = 20  # seconds of a run, which takes less than one


def compiled(source, build, out, path):
    """An object of a test, which has the mutants of headers too, where it compiles with them."""
    made = os.path.join(out, os.path.basename(path) + '.unit.o')
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [os.path.join(build, 'sdk/include'), *(os.path.join(source, f) for f in ('sdk', 'sdk/include', 'tests', 'core', 'core/include', '.'))]
    command = [os.environ.get('CXX', 'g++'), '-std=c++20', '-O1', '-w', '-pthread', '-c', path, '-o', made]
    for mutated in ([out, here], []):
        if subprocess.run([*command, *('-I' + f for f in mutated + folders)], stderr=subprocess.DEVNULL).returncode == 0:
            return made
    raise SystemExit('check-mutants: %s does not compile' % path)


def link(source, build, out, jobs):
    """The program of the unit tests with the runtime in which the mutants wait."""
    said = subprocess.run(['ninja', '-C', build, '-t', 'commands', 'bin/runtime_test'], stdout=subprocess.PIPE, text=True, check=True)
    words = shlex.split(said.stdout.splitlines()[-1])
    at = words.index('-o')
    end = words.index('&&', at) if '&&' in words[at:] else len(words)
    libraries = [w for w in words[at + 2:end] if not w.endswith('.o')]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        tests = list(pool.map(lambda p: compiled(source, build, out, p), sorted(glob.glob(os.path.join(source, 'tests/unit/runtime/*.cc')))))
    program = os.path.join(out, 'runtime_test')
    mutated = sorted(glob.glob(os.path.join(out, '[0-9]*-*.o')))  # first: of two definitions the linker takes the first
    subprocess.run([os.environ.get('CXX', 'g++'), '-pthread', '-Wl,--allow-multiple-definition', '-o', program, *mutated, *tests, *libraries],
                   cwd=build, check=True)
    return program


def notice(program, mutants=()):
    """Whether a test fails, or the program dies or does not end, with these."""
    environment = dict(os.environ, TENON_MUTANT=','.join('%d:%d' % m for m in mutants))
    try:
        return subprocess.run([program, '--gtest_brief=1', '--gtest_filter=-' + ':'.join(SKIPPED)], env=environment, timeout=LIMIT,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def try_each(program, mutants, jobs, told):
    """Tells of each whether it was noticed."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for mutant, is_noticed in zip(mutants, pool.map(lambda m: notice(program, [m]), mutants)):
            told(mutant, is_noticed)
