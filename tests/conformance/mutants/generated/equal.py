"""Whether a mutant changes nothing that the compiler sees: the objects of what it is in, with it and without, are the same."""
import concurrent.futures
import filecmp
import os
import re
import subprocess
import tempfile
import time
import generate
import sites

FLAGS = [f for f in generate.FLAGS if f != '-O1'] + ['-O2']


class Prover:
    """Of all mutants that are asked about: their sites are written once, and each object without any change is made once."""

    def __init__(self, generator, mutants):
        self.generator = generator
        self.here = os.path.dirname(os.path.abspath(__file__))
        self.folder = tempfile.TemporaryDirectory(dir=generator.out)
        self.units = [p for p in generator.paths if p.endswith('.cc')]
        self.whole, self.readers, self.seconds = {}, None, {}
        self.write({site for site, _ in mutants})

    def write(self, asked):
        for path in self.generator.paths:
            source = self.generator.sources[path]
            text, _ = sites.write(source, [(s.number, s) for s in source.sites if s.number in asked], '#include "sites.h"\n')
            place = os.path.join(self.folder.name, generate.place_of(path))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, 'w') as file:
                file.write(text)

    def command(self, unit, *more):
        root = self.generator.root
        return [os.environ.get('CXX', 'g++'), *FLAGS, '-I', self.folder.name, '-I', self.here, '-I', os.path.join(root, 'sdk'),
                '-I', os.path.join(root, 'sdk/include'), '-I', generate.written_headers(self.generator.out), *more,
                os.path.join(self.folder.name, os.path.basename(unit))]

    def units_of(self, path):
        """The sources that are compiled with this file in them."""
        if path.endswith('.cc'):
            return [path]
        if self.readers is None:
            self.readers = {}
            for unit in self.units:
                made = subprocess.run(self.command(unit, '-DTENON_CHOSEN=0', '-MM'), stdout=subprocess.PIPE, text=True, check=True).stdout
                self.readers[unit] = {os.path.realpath(name) for name in re.split(r'[\\\s]+', made.split(':', 1)[1]) if name}
        where = os.path.realpath(os.path.join(self.folder.name, generate.place_of(path)))
        return [unit for unit, read in self.readers.items() if where in read]

    def compile(self, unit, name, chosen):
        """The unit's object, where `chosen` is an expression of `site`; None where it does not compile."""
        made = os.path.join(self.folder.name, '%s.%s.o' % (os.path.basename(unit), name))
        done = subprocess.run(self.command(unit, '-DTENON_CHOSEN=' + chosen, '-c', '-o', made), stderr=subprocess.DEVNULL)
        return None if done.returncode else made

    def make_whole(self, unit):
        if unit not in self.whole:
            start = time.monotonic()
            self.whole[unit] = self.compile(unit, 'whole', '0')
            self.seconds[unit] = time.monotonic() - start

    def is_equal(self, site, mode):
        units = self.units_of(self.generator.sites[site].path)
        for unit in units:
            self.make_whole(unit)
        return all(self.same_object(unit, site, mode) for unit in sorted(units, key=lambda u: self.seconds[u]))

    def same_object(self, unit, site, mode):
        made = self.compile(unit, '%d-%d' % (site, mode), 'site==%d?%d:0' % (site, mode))
        same = bool(made and self.whole[unit]) and filecmp.cmp(made, self.whole[unit], shallow=False)
        if made:
            os.remove(made)
        return same


def equal_ones(root, out, mutants, jobs, seconds, told=lambda mutant, is_equal: None):
    """Those of the mutants, (site, mode), that change no object; each that was looked at within the time is told."""
    if not mutants:
        return set()
    prover = Prover(generate.Generator(root, out, jobs), mutants)
    prover.units_of(generate.EXAMPLE[1])  # once, before there are threads
    end = time.monotonic() + seconds
    same = set()

    def look(mutant):
        if time.monotonic() < end:
            is_equal = prover.is_equal(*mutant)
            told(mutant, is_equal)
            if is_equal:
                same.add(mutant)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(look, mutants))
    return same
