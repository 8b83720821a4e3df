#!/usr/bin/env python3
"""One peer's input pipeline over the photos of `tenon bench input`, a line of JSON.

  input_peer.py tfdata|tfdata_fast|torchvision|dali|tfdata_lines DIR [--threads 2] [--seconds 3]

DIR has train-* TFRecords of JPEGs of 500x375 (tenon bench input --data_dir DIR). They are shuffled, resized to 234x234, cropped at
random to 224x224, flipped, changed in brightness and contrast, scaled to -1 .. 1, in batches of 64 floats. tfdata_lines reads
DIR/lines.txt instead: lines, shuffled, as numbers padded to 32, 64, 128 or 255, 8192 of them in a batch. The rate is that of
the best of three rounds, by the clock and by the work of a core.
"""
import argparse
import glob
import json
import multiprocessing
import os
import struct
import sys
import time

BATCH, GRID, SIDE = 64, 234, 224
BRIGHTNESS, CONTRAST = 63 / 255, (0.2, 1.8)
LENGTHS, NUMBERS = [32, 64, 128, 255], 8192


def records(paths):
    """The records of TFRecord files."""
    for path in paths:
        with open(path, "rb") as f:
            while head := f.read(12):
                data = f.read(struct.unpack("<Q", head[:8])[0])
                f.read(4)
                yield data


def jpegs(paths):
    """The JPEG in each: found by its marks, as an Example's parser would need a package."""
    return [r[r.index(b"\xff\xd8\xff"):r.rindex(b"\xff\xd9") + 2] for r in records(paths)]


def tfdata(paths, threads, fast):
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)

    def prepare(record):
        f = tf.io.parse_single_example(record, {"image/encoded": tf.io.FixedLenFeature([], tf.string),
                                                "image/class/label": tf.io.FixedLenFeature([], tf.int64)})
        options = {"dct_method": "INTEGER_FAST", "fancy_upscaling": False} if fast else {}
        image = tf.io.decode_jpeg(f["image/encoded"], channels=3, **options)
        image = tf.image.convert_image_dtype(image, tf.float32)
        image = tf.image.resize(image, [GRID, GRID])
        image = tf.image.random_crop(image, [SIDE, SIDE, 3])
        image = tf.image.random_flip_left_right(image)
        image = tf.image.random_brightness(image, BRIGHTNESS)
        image = tf.image.random_contrast(image, *CONTRAST)
        return (image - 0.5) * 2, f["image/class/label"] - 1

    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    data = tf.data.TFRecordDataset(paths).repeat().shuffle(1024).map(prepare, tf.data.AUTOTUNE, deterministic=False)
    data = data.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE).with_options(options)
    return tf.__version__, iter(data), lambda batch: batch[0].shape[0]


def tfdata_lines(paths, threads):
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    data = tf.data.TextLineDataset(paths).shuffle(4096).repeat()
    data = data.map(lambda line: tf.cast(tf.io.decode_raw(line, tf.uint8), tf.int32), tf.data.AUTOTUNE)
    data = data.bucket_by_sequence_length(tf.size, [n + 1 for n in LENGTHS], [NUMBERS // n for n in LENGTHS] + [1],
                                          pad_to_bucket_boundary=True)
    data = data.prefetch(tf.data.AUTOTUNE).with_options(options)
    return tf.__version__, iter(data), lambda batch: batch.shape[0]


class Photos:
    """For a DataLoader."""

    def __init__(self, paths):
        import torch
        from torchvision.io import decode_jpeg
        from torchvision.transforms import v2
        self.files = [torch.frombuffer(bytearray(f), dtype=torch.uint8) for f in jpegs(paths)]
        self.decode = decode_jpeg
        self.change = v2.Compose([
            v2.Resize((GRID, GRID), antialias=False), v2.RandomCrop(SIDE), v2.RandomHorizontalFlip(),
            v2.ColorJitter(brightness=BRIGHTNESS, contrast=CONTRAST), v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.5] * 3, [0.5] * 3)])

    def __len__(self):
        return 1 << 30

    def __getitem__(self, i):
        return self.change(self.decode(self.files[i * 7919 % len(self.files)])), i % 5


def torchvision(paths, threads):
    import torch
    import torchvision as tv
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(Photos(paths), batch_size=BATCH, num_workers=threads, prefetch_factor=4,
                                         worker_init_fn=lambda _: torch.set_num_threads(1))
    return tv.__version__, iter(loader), lambda batch: batch[0].shape[0]


def dali(paths, threads):
    import numpy as np
    import nvidia.dali
    from nvidia.dali import fn, pipeline_def, types
    files = [np.frombuffer(f, dtype=np.uint8) for f in jpegs(paths)]

    @pipeline_def(batch_size=BATCH, num_threads=threads, device_id=None)
    def prepare():
        encoded = fn.external_source(source=lambda s: files[s.idx_in_epoch * 7919 % len(files)], batch=False)
        image = fn.decoders.image(encoded, device="cpu", output_type=types.RGB)
        image = fn.resize(image, resize_x=GRID, resize_y=GRID, interp_type=types.INTERP_LINEAR, antialias=False)
        image = fn.brightness_contrast(image, brightness_shift=fn.random.uniform(range=(-BRIGHTNESS, BRIGHTNESS)),
                                       contrast=fn.random.uniform(range=CONTRAST))
        return fn.crop_mirror_normalize(image, crop=(SIDE, SIDE), crop_pos_x=fn.random.uniform(range=(0, 1)),
                                        crop_pos_y=fn.random.uniform(range=(0, 1)), mirror=fn.random.coin_flip(),
                                        mean=[127.5] * 3, std=[127.5] * 3, dtype=types.FLOAT, output_layout="HWC")

    pipeline = prepare(prefetch_queue_depth=4)
    pipeline.build()
    return nvidia.dali.__version__, iter(pipeline.run, None), lambda batch: len(batch[0])


PEERS = {
    "tfdata": lambda paths, threads: tfdata(paths, threads, False),
    "tfdata_fast": lambda paths, threads: tfdata(paths, threads, True),
    "torchvision": torchvision,
    "dali": dali,
    "tfdata_lines": tfdata_lines,
}


def cpu_seconds():
    """Of this process and its workers."""
    seconds = time.process_time()
    for child in multiprocessing.active_children():
        with open(f"/proc/{child.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


def rate(batches, rows_of, seconds):
    images, begun, work = 0, time.perf_counter(), cpu_seconds()
    while time.perf_counter() - begun < seconds:
        images += rows_of(next(batches))
    return images / (time.perf_counter() - begun), images / (cpu_seconds() - work)


def main():
    parser = argparse.ArgumentParser(description="Times one peer's input pipeline.")
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("directory")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    files, case = ("lines.txt", " lines") if args.peer == "tfdata_lines" else ("train-*", "")
    paths = sorted(glob.glob(os.path.join(args.directory, files)))
    if not paths:
        sys.exit(f"input_peer: no {files} in '{args.directory}'; tenon bench input{case} --data_dir makes them")
    version, batches, rows_of = PEERS[args.peer](paths, args.threads)
    for _ in range(8):
        next(batches)
    rates = [rate(batches, rows_of, args.seconds) for _ in range(3)]
    print(json.dumps({"peer": args.peer, "version": version, "threads": args.threads,
                      "examples_per_second": max(r[0] for r in rates),
                      "examples_per_second_a_core": max(r[1] for r in rates)}), flush=True)
    os._exit(0)  # workers and all


if __name__ == "__main__":
    main()
