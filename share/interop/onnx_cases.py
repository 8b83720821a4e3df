"""Cases of ONNX files, as `tenon run --tests` takes them: DIRECTORY/NAME/model.onnx and its inputs and outputs."""
import json
import pathlib
import subprocess

import numpy as np
import onnx
import onnx.numpy_helper


def tensor(value, name=""):
    if isinstance(value, onnx.TensorProto):
        return value
    return onnx.numpy_helper.from_array(np.asarray(value, order="C"), name)


def write_case(directory, model, sets):
    """`sets`: inputs and outputs of each."""
    directory.mkdir(parents=True)
    (directory / "model.onnx").write_bytes(model.SerializeToString())
    for i, (inputs, outputs) in enumerate(sets):
        data = directory / f"test_data_set_{i}"
        data.mkdir()
        for stem, values in (("input", inputs), ("output", outputs)):
            for k, value in enumerate(values):
                (data / f"{stem}_{k}.pb").write_bytes(tensor(value).SerializeToString())


def answers_of(model, inputs):
    """What ONNX Runtime says, in the order of outputs; of a list of maps from labels the numbers."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found = session.run(None, {given.name: value for given, value in zip(session.get_inputs(), inputs)})
    return [np.asarray([list(row.values()) for row in value], np.float32) if isinstance(value, list) else np.asarray(value)
            for value in found]


def run(tenon, root, device, flags=()):
    """A line of `tenon run --tests` for each case."""
    done = subprocess.run([tenon, "run", "--tests", str(root), "--device", device, "--json", *flags], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.strip() or f"tenon run ended with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines() if '"event": "test"' in line]


def compare(tenon, root, tolerance, what, refused=()):
    """All cases of a directory on cpu, a line each; 1 where one fails, but those that are known to be refused."""
    results = run(tenon, root, "cpu", ["--rtol", str(tolerance), "--atol", str(tolerance)])
    passed = bad = 0
    for result in results:
        passed += result["status"] == "passed"
        ending = f"outputs differ by {result['max_error']:.1e}" if result["status"] == "passed" else result.get("message", "")[:300]
        known = result["status"] == "unsupported" and result["name"] in refused
        bad += result["status"] != "passed" and not known
        print(f"{'ok     ' if result['status'] == 'passed' else 'refused' if known else 'FAILED '} {result['name']}: {ending}", flush=True)
    print(f"{passed} of {len(results)} {what}")
    return 0 if bad == 0 and results else 1


def keep(directory, made):
    """Writes cases beside those that are there; `made`: by name what gives a model and its inputs."""
    for name, make in made.items():
        model, inputs = make()
        write_case(directory / name, model, [(inputs, answers_of(model, inputs))])
        print(name, sum(path.stat().st_size for path in pathlib.Path(directory / name).rglob("*") if path.is_file()))
    return 0
