# SPDX-License-Identifier: Apache-2.0
"""What was compiled: kernels and models, and files of both."""

import asyncio
import builtins
import functools
import json
import os
import time

from tern import _tern
from tern._arrays import empty, tensor
from tern._errors import KeyError, TypeError, ValueError
from tern._report import Report, table

_DENORMALS = {None: 0, "keep": 1, "flush": 2}


def _near(name, names):
    import difflib

    close = difflib.get_close_matches(name, names, 1)
    return f", did you mean '{close[0]}'?" if close else ""


def inspect(path):
    """What is in a compiled file, as a dict; all of it is verified and nothing is executed.

    Of a model, `result["model"]` has its dims, inputs and outputs; `result["meta"]` has the target and
    how functions are called.
    """
    return json.loads(_tern.describe_file(os.fspath(path)))


def load(path):
    """The kernels or the model of a .so or .tern file. It needs the runtime alone."""
    _find_plugins()
    path = os.fspath(path)
    info = json.loads(_tern.describe_file(path))
    name = os.path.basename(path)
    if "model" in info:
        model = Model(name, lambda: _tern.load_model(path))
        model._model  # what cannot be loaded is an error here
        return model
    kernels = Kernels(name, lambda: _tern.load_module(path))
    kernels._module
    return kernels


class Executable:
    """What can run, and be saved where it was compiled here.

    It is loaded when it is used first: what is compiled for another machine is only saved.
    """

    def __init__(self, name, open, compiled=None, source=None, options=None):
        self.name = name
        self._open = open
        self._compiled = compiled
        self._source = source
        self._options = options or {}

    def save(self, path, keep_source=False):
        """Writes a .so or .tern file; of kernels .o, .a, .c and .tar too."""
        if self._compiled is None:
            raise ValueError(f"{self.name} was loaded from a file: copy that file")
        _tern.save(self._compiled, os.fspath(path), json.dumps({"keep_source": bool(keep_source)}))

    def source(self, format=""):
        """The code in a readable form: 'll', 'asm', 'c', 'cuda', ..."""
        if self._compiled is None:
            raise ValueError(f"{self.name} was loaded from a file: see tern inspect --format")
        return _tern.source_text(self._compiled, format)

    def explain(self, kernel=None):
        """What became of it, and why: kernels, schedule rules, memory. A page in notebooks."""
        if self._source is None:
            raise ValueError(f"{self.name} was loaded from a file: explain it where it is compiled")
        options = dict(self._options)
        if kernel:
            options["kernel"] = kernel
            return Report.make(_tern.explain(self._source, self.name, json.dumps(options)))
        text = _tern.explain(self._source, self.name, json.dumps(options))
        page = None
        if isinstance(self, Model):
            page = _tern.explain(self._source, self.name, json.dumps({**options, "format": "html"}))
        return Report.make(text, page)

    async def run_async(self, *args, **arrays):
        """The same as a call, in another thread: the event loop goes on meanwhile."""
        return await asyncio.get_running_loop().run_in_executor(None, lambda: self(*args, **arrays))


class Kernels(Executable):
    """Compiled functions: `kernels.add(a, b, c)`, `kernels["add"]`; a single one is called itself."""

    def __init__(self, name, open, **compiled):
        super().__init__(name, open, **compiled)
        self._made = {}

    @functools.cached_property
    def _module(self):
        return self._open()

    @functools.cached_property
    def meta(self):
        """What the file says: target, device, functions."""
        return json.loads(_tern.describe_module(self._module))

    @functools.cached_property
    def _infos(self):
        return {info["name"]: info for info in self.meta["functions"]}

    @functools.cached_property
    def functions(self):
        """Their names, without the parts that prepack constants."""
        parts = {info.get(part) for info in self._infos.values() for part in ("prepare", "prepared")}
        return [name for name in self._infos if name not in parts]

    def __getitem__(self, name):
        function = self._made.get(name)
        if function is None:
            function = self._made.setdefault(name, self._make(name))
        return function

    def __getattr__(self, name):
        if name.startswith("_") or name in ("meta", "functions"):
            raise AttributeError(name)
        if name not in self._infos:
            known = self.functions
            raise AttributeError(
                f"there is no function '{name}'{_near(name, known)}; the functions are {', '.join(known)}"
            )
        return self[name]

    def __dir__(self):
        return [*super().__dir__(), *self.functions]

    def __call__(self, *args, **arrays):
        if len(self.functions) != 1:
            raise TypeError(f"{self.name} has {len(self.functions)} functions: {', '.join(self.functions)}; call one")
        return self[self.functions[0]](*args, **arrays)

    def __repr__(self):
        return f"<tern.Kernels {self.name}: {', '.join(self.functions)} for {self.meta['target']}>"

    def signature(self, name):
        """'add(A: float32[n], B: float32[n] (written))'"""
        params = []
        for param in self._info(name)["params"]:
            shape = f"[{', '.join(param['shape'])}]" if param["is_tensor"] else ""
            params.append(f"{param['name']}: {param['dtype']}{shape}{' (written)' if param['is_output'] else ''}")
        return f"{name}({', '.join(params)})"

    def profile(self, name=None, repeat=100, dims=None, **arrays):
        """Times of a function on given arrays, or on ones of `dims` that are made."""
        name = name or self.functions[0]
        return _time_function(self, name, repeat, dims or {}, arrays)

    def _info(self, name):
        info = self._infos.get(name)
        if info is None:
            raise KeyError(
                f"there is no function '{name}'{_near(name, self.functions)}; "
                f"the functions are {', '.join(self.functions)}"
            )
        return info

    def _make(self, name):
        info = self._info(name)
        kinds = "".join(_kind_of(param) for param in info["params"])
        names = tuple(param["name"] for param in info["params"])
        device = info.get("device") or self.meta["device"]
        bind = _Binder(info["params"], device)
        return _tern.make_function(self._module, name, name, kinds, names, bind)


def _kind_of(param):
    if param["is_tensor"]:
        return "w" if param["is_output"] else "t"
    dtype = param["dtype"]
    return "b" if dtype == "bool" else "f" if "float" in dtype else "i"


class _Binder:
    """Calls with names, or without results: those that are left out are made and returned."""

    def __init__(self, params, device):
        self.params = params
        self.names = [param["name"] for param in params]
        self.inputs = [param["name"] for param in params if not param["is_output"]]
        self.device = device

    def __call__(self, function, args, named):
        count = len(args)
        names = self.inputs if count <= len(self.inputs) else self.names
        if count > len(self.names):
            raise TypeError(f"{function.name} has {len(self.names)} parameters, {count} were given")
        values = dict(zip(names, args))
        for name, value in named.items():
            if name not in self.names:
                raise TypeError(
                    f"{function.name} has no parameter '{name}'{_near(name, self.names)}; "
                    f"it has {', '.join(self.names)}"
                )
            if name in values:
                raise TypeError(f"{function.name}: {name} is given twice")
            values[name] = value
        missing = [name for name in self.inputs if name not in values]
        if missing:
            raise TypeError(f"{function.name}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
        made = [name for name in self.names if name not in values]
        if made:
            self.make_results(function, values, made)
        function(*[values[name] for name in self.names])
        results = tuple(values[name] for name in made)
        return None if not results else results[0] if len(results) == 1 else results

    def make_results(self, function, values, made):
        symbols = {}
        for param in self.params:
            value = values.get(param["name"])
            if value is None:
                continue
            if not param["is_tensor"]:
                if isinstance(value, int):
                    symbols.setdefault(param["name"], value)
                continue
            if not hasattr(value, "shape"):
                values[param["name"]] = value = _tern.from_array(value)
            for text, extent in zip(param["shape"], value.shape):
                if text.isidentifier():
                    symbols.setdefault(text, int(extent))
        for param in self.params:
            if param["name"] in made:
                shape = tuple(_tern.evaluate_extent(text, symbols) for text in param["shape"])
                values[param["name"]] = _zeros(shape, param["dtype"], self.device)


def _time_function(kernels, name, repeat, dims, arrays):
    info = kernels._info(name)
    function = kernels[name]
    device = info.get("device") or kernels.meta["device"]
    values = []
    for param in info["params"]:
        if param["name"] in arrays:
            values.append(arrays[param["name"]])
        elif param["is_tensor"]:
            try:
                shape = tuple(_tern.evaluate_extent(text, dims) for text in param["shape"])
            except ValueError as error:
                raise ValueError(
                    f"{name}: give {param['name']}, or the dims of {param['dtype']}[{', '.join(param['shape'])}]: {error}"
                ) from None
            values.append(_zeros(shape, param["dtype"], device))
        else:
            values.append(dims.get(param["name"], 1))
    function(*values)  # warm
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function(*values)
        if device != "cpu":
            _tern.synchronize(device, 0)
        times.append(time.perf_counter() - start)
    times.sort()
    return Timing(name, times)


def _zeros(shape, dtype, device):
    host = empty(shape, dtype)
    if host.size:
        data = memoryview(host._reinterpret(_SAME_SIZE[dtype]) if dtype in _SAME_SIZE else host)
        data.cast("B")[:] = bytes(host.nbytes)
        data.release()
    return host if device == "cpu" else host.to(device)


_SAME_SIZE = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


class Timing:
    """Times of calls, in seconds: `best`, `median`, `mean`."""

    def __init__(self, name, times):
        self.name = name
        self.times = times
        self.best = times[0]
        self.median = times[len(times) // 2]
        self.mean = sum(times) / len(times)

    def __repr__(self):
        return (
            f"{self.name}: best {_duration(self.best)}, median {_duration(self.median)}, "
            f"mean {_duration(self.mean)} of {len(self.times)}"
        )


def _duration(seconds):
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


class Port:
    """An input or output of a model."""

    def __init__(self, name, dtype, shape, has_default):
        self.name = name
        self.dtype = dtype
        self.shape = tuple(int(text) if text.isdigit() else text for text in shape)
        self.has_default = has_default

    def __repr__(self):
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"


class Model(Executable):
    """A compiled model. Calls take inputs by place or name, and may come from any threads.

    A model with one output gives its tensor, others a tuple; `session()` has more to say on runs.
    """

    def __init__(self, name, open, **compiled):
        super().__init__(name, open, **compiled)
        self._idle = []  # sessions that no thread uses

    @functools.cached_property
    def _model(self):
        return self._open()

    @functools.cached_property
    def _ports(self):
        inputs, outputs, _, _ = _tern.describe_model(self._model)
        return [Port(*port) for port in inputs], [Port(*port) for port in outputs]

    @property
    def inputs(self):
        """What it takes: ports with name, dtype, shape."""
        return self._ports[0]

    @property
    def outputs(self):
        """What it gives."""
        return self._ports[1]

    def specializations(self, wait=False):
        """What was compiled for shapes that came (`specialize` of tern.compile): dicts with dims, state, seconds, error.

        wait: until nothing is left to compile
        """
        return json.loads(_tern.specializations(self._model, wait))

    def session(self, **options):
        """Runs of the model with options: see Session."""
        return Session(self, **options)

    def __call__(self, *args, **arrays):
        try:
            session = self._idle.pop()
        except builtins.IndexError:
            session = Session(self)
        try:
            return session(*args, **arrays)
        finally:
            self._idle.append(session)

    async def run_async(self, *args, **arrays):
        session = await asyncio.get_running_loop().run_in_executor(None, Session, self)
        return await session.run_async(*args, **arrays)

    def profile(self, *args, repeat=10, **arrays):
        """Where the time of runs goes, by kernel."""
        return Session(self).profile(*args, repeat=repeat, **arrays)

    def __repr__(self):
        return f"<tern.Model {self.name}: ({', '.join(map(repr, self.inputs))}) -> ({', '.join(map(repr, self.outputs))})>"


class Session:
    """Runs of a model, one at a time, which reuse its memory.

    threads, cpus: how many threads parallel loops have, and the CPUs that they run on
    denormals: 'keep' or 'flush'; None: as the calling thread has it
    in_place: inputs and outputs that would have to be copied are errors
    outputs: names of those that are wanted; what only others need is not computed
    timeout: seconds after which a run fails with a tern.TimeoutError
    """

    def __init__(self, model, threads=0, cpus=(), denormals=None, in_place=False, outputs=None, timeout=None):
        if denormals not in _DENORMALS:
            raise ValueError(f"denormals: expected None, 'keep' or 'flush', got {denormals!r}")
        self.model = model
        self._ports = model.inputs
        self._session = _tern.make_session(model._model, threads, tuple(cpus), _DENORMALS[denormals], in_place)
        self._places = {port.name: i for i, port in enumerate(model.inputs)}
        self._selected = [True] * len(model.outputs)
        self._none = (None,) * len(model.outputs)
        if outputs is not None:
            _tern.select_outputs(self._session, tuple(outputs))
            self._selected = [port.name in set(outputs) for port in model.outputs]
        if timeout is not None:
            _tern.set_timeout(self._session, timeout)

    def __call__(self, *args, out=None, **arrays):
        """Runs on inputs by place or name. `out` is a dict of arrays that results are written to."""
        given = _tern.run_session(self._session, self._inputs(args, arrays), self._outputs(out))
        results = tuple(value for value, wanted in zip(given, self._selected) if wanted)
        return results[0] if len(results) == 1 else results

    def run(self, inputs, out=None):
        """Runs on a dict of inputs, whatever their names; gives a dict of outputs."""
        given = _tern.run_session(self._session, self._inputs((), inputs), self._outputs(out))
        return {
            port.name: value for port, value, wanted in zip(self.model.outputs, given, self._selected) if wanted
        }

    async def run_async(self, *args, **arrays):
        """The same as a call, in another thread. Where the task is cancelled, so is the run."""
        run = asyncio.get_running_loop().run_in_executor(None, lambda: self(*args, **arrays))
        try:
            return await asyncio.shield(run)
        except asyncio.CancelledError:
            self.cancel()
            await asyncio.wait([run])
            run.exception()  # is seen
            raise

    def cancel(self):
        """From any thread: the run in progress fails with a tern.CancelledError. Whether there is one."""
        return _tern.cancel_session(self._session)

    def profile(self, *args, repeat=10, **arrays):
        """Where the time of runs goes, by kernel."""
        inputs = self._inputs(args, arrays)
        _tern.run_session(self._session, inputs, self._none)  # warm
        _tern.set_profile(self._session, True)
        start = time.perf_counter()
        for _ in range(repeat):
            _tern.run_session(self._session, inputs, self._none)
        seconds = (time.perf_counter() - start) / repeat
        calls = json.loads(_tern.get_profile(self._session))
        _tern.set_profile(self._session, False)
        return Profile(self.model.name, calls, seconds, repeat)

    def _inputs(self, args, named):
        ports = self._ports
        if len(args) > len(ports):
            raise TypeError(f"{self.model.name} has {len(ports)} inputs, {len(args)} were given")
        values = list(args) + [None] * (len(ports) - len(args))
        for name, value in named.items():
            place = self._places.get(name)
            if place is None:
                known = list(self._places)
                raise TypeError(
                    f"{self.model.name} has no input '{name}'{_near(name, known)}; it has {', '.join(known)}"
                )
            if place < len(args):
                raise TypeError(f"{self.model.name}: input {name} is given twice")
            values[place] = value
        for place, (port, value) in enumerate(zip(ports, values)):
            if value is None:
                if not port.has_default:
                    raise TypeError(f"{self.model.name}: input {port!r} is missing")
            elif isinstance(value, (int, float, list, tuple)):
                values[place] = tensor(value, port.dtype)
        return tuple(values)

    def _outputs(self, out):
        if not out:
            return self._none
        names = [port.name for port in self.model.outputs]
        for name in out:
            if name not in names:
                raise TypeError(
                    f"{self.model.name} has no output '{name}'{_near(name, names)}; it has {', '.join(names)}"
                )
        return tuple(out.get(name) for name in names)


class Profile:
    """Times of a run by kernel: `rows` of (kernel, calls, seconds), `seconds` of all."""

    def __init__(self, name, calls, seconds, repeat):
        self.name = name
        self.seconds = seconds
        times = {}
        for call in calls:
            row = times.setdefault(call["kernel"], [0, 0.0])
            row[0] += 1
            row[1] += call["seconds"]
        self.rows = sorted(
            ((kernel, count // repeat, total / repeat) for kernel, (count, total) in times.items()),
            key=lambda row: -row[2],
        )
        between = max(0.0, seconds - sum(row[2] for row in self.rows))
        self.rows.append(("(between calls)", 0, between))

    def _cells(self):
        whole = self.seconds or 1
        return [
            (kernel, str(calls), f"{seconds * 1e6:.1f}", f"{seconds / whole:.1%}")
            for kernel, calls, seconds in self.rows
        ]

    def __repr__(self):
        head = ("kernel", "calls", "us a run", "%")
        return f"{self.name}: {_duration(self.seconds)} a run\n" + table([head, *self._cells()])

    def _repr_html_(self):
        import html

        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._cells()
        )
        return (
            f"<p>{html.escape(self.name)}: {_duration(self.seconds)} a run</p><table><tr><th>kernel</th>"
            f"<th>calls</th><th>us a run</th><th>%</th></tr>{rows}</table>"
        )


def _find_plugins():
    from tern import _plugins

    _plugins.find()
