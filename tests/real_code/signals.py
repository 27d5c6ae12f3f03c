"""Signal processing: filters, windows, spectra, complex signals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.real_code.piece import ANEW, REPLAYED, UNFUSED, Piece, attribute, put

RATE = 8000.0


def tones(n: int) -> Any:
    t = np.arange(n) / RATE
    noise = np.random.default_rng(0).normal(size=n)
    return np.sin(2 * np.pi * 440 * t) + 0.5 * np.sin(2 * np.pi * 1250 * t) + 0.1 * noise


# --- a FIR low-pass: a windowed sinc made inside, convolution, decibels


def low_pass(x: Any, cutoff: float, taps: int = 63) -> dict[str, Any]:
    """The filtered signal, and how much of it went away."""
    n = np.arange(taps) - (taps - 1) / 2
    h = 2 * cutoff / RATE * np.sinc(2 * cutoff / RATE * n)
    h *= np.hamming(taps)
    h /= h.sum()
    y = np.convolve(x, h, mode="same")
    lost = 10 * np.log10((x**2).mean() / (y**2).mean())
    return {"signal": y, "taps": h, "lost": lost, "text": f"{lost:.3f} dB"}


# --- STFT by hand: frames by an index table, a window that is a function given as default


def stft(
    x: Any, size: int = 256, hop: int = 64, window: Callable[[int], Any] = np.hanning
) -> tuple[Any, Any, Any]:
    """Times, frequencies and decibels."""
    count = 1 + (len(x) - size) // hop
    index = np.arange(size)[None, :] + hop * np.arange(count)[:, None]
    frames = x[index] * window(size)
    frames -= frames.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(frames, axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    decibels = 10 * np.log10(np.maximum(power / power.max(), 1e-10))
    return hop * np.arange(count) / RATE, np.fft.rfftfreq(size, 1 / RATE), decibels


# --- a mixer down to base band: parts of complex signals are written to


class Mixer:
    """Keeps its phase from block to block."""

    def __init__(self, frequency: float, block: int) -> None:
        self.frequency = frequency
        self.phase = 0.0
        self.block = block
        self.dc = np.complex128(0)

    def mix(self, x: Any) -> Any:
        turn = 2 * np.pi * self.frequency / RATE
        carrier = np.exp(-1j * (self.phase + turn * np.arange(self.block)))
        z = x * carrier
        z.imag *= 1.01
        z.real[np.abs(z) < 0.01] = 0.0
        self.dc = 0.9 * self.dc + 0.1 * z.mean()
        z -= self.dc
        self.phase = (self.phase + turn * self.block) % (2 * np.pi)
        return z


# --- an echo with feedback: a few taps, each an update of a slice of what came before


def echo(x: Any, delays: list[int], gains: list[float], out: Any | None = None) -> Any:
    """The signal and its echoes; ``out`` may be given."""
    y = np.zeros_like(x) if out is None else out
    y[:] = x
    for delay, gain in zip(delays, gains, strict=True):
        y[delay:] += gain * y[:-delay]
    peak = np.abs(y).max()
    y /= peak
    return y


# --- a recursive filter, sample by sample: there is nothing to fuse


def biquad(x: Any, b: tuple[float, ...], a: tuple[float, ...]) -> Any:
    """The filtered rows."""
    y = np.zeros_like(x)
    for i in range(2, x.shape[1]):
        y[:, i] = b[0] * x[:, i] + b[1] * x[:, i - 1] + b[2] * x[:, i - 2]
        y[:, i] -= a[0] * y[:, i - 1] + a[1] * y[:, i - 2]
    return y


# --- peaks: a result whose length depends on the values


def peaks(x: Any, level: float, smooth: int = 5) -> tuple[Any, Any]:
    """Where the smoothed signal is highest around, and how high."""
    kernel = np.ones(smooth) / smooth
    y = np.convolve(x, kernel, mode="same")
    high = (y[1:-1] > y[:-2]) & (y[1:-1] >= y[2:]) & (y[1:-1] > level * y.std())
    where = np.flatnonzero(high) + 1
    return where, np.round(y[where], 6)


# --- spectral features: moments, a shared running state in a dict of arrays


def features(frames: Any, state: dict[str, Any], forget: float = 0.95) -> dict[str, Any]:
    """Centroid, spread and flux of each frame; ``state`` keeps the last spectrum."""
    power = np.abs(np.fft.rfft(frames * np.hanning(frames.shape[1]), axis=1)) ** 2 + 1e-12
    share = power / power.sum(axis=1, keepdims=True)
    bins = np.arange(share.shape[1])
    centroid = np.einsum("ij,j->i", share, bins)
    spread = np.sqrt(np.einsum("ij,ij->i", share, (bins - centroid[:, None]) ** 2))
    before = np.concatenate([state["last"][None], share[:-1]])
    flux = np.maximum(share - before, 0).sum(axis=1)
    state["mean"] = forget * state["mean"] + (1 - forget) * share.mean(axis=0)
    state["last"] = share[-1]
    state["seen"] += len(frames)
    return {"centroid": centroid, "spread": spread, "flux": flux}


def make_features() -> list[Any]:
    state = {"last": np.zeros(129), "mean": np.zeros(129), "seen": 0}
    return [tones(256 * 200).reshape(200, 256), state]


# --- the analytic signal: its parts are views, written through and read through


def analytic(x: Any, floor: float) -> tuple[Any, Any, str]:
    """The signal with its quadrature, small values gated, and the envelope."""
    n = x.shape[-1]
    weight = np.zeros(n)
    weight[0] = weight[n // 2] = 1
    weight[1 : n // 2] = 2
    z = np.fft.ifft(np.fft.fft(x) * weight)
    loud = z.real
    z *= 2
    z.real[np.abs(loud) < floor] = 0
    z.imag[:100] = 0
    envelope = np.sqrt(loud**2 + z.imag**2)
    return z, envelope, f"{envelope.max():.4f}"


PIECES = [
    Piece(
        "low-pass", "low_pass", lambda: [tones(50_000), 900.0], REPLAYED,
        (put(1, lambda c: 300.0), lambda a: a.append(31), lambda a: globals().update(RATE=16e3),
         put(0, lambda x: x[:4000])),
    ),
    Piece(
        "STFT by hand", "stft", lambda: [tones(30_000)], REPLAYED,
        (put(0, lambda x: 2 * x[:20_000]), lambda a: a.extend([128, 32]),
         lambda a: a.append(np.blackman), lambda a: globals().update(RATE=44100.0)),
    ),
    Piece(
        "mixer", "Mixer.mix", lambda: [Mixer(441.3, 40_000), tones(40_000)], REPLAYED,
        (attribute(0, "frequency", 1250.0), attribute(0, "phase", 0.1), put(1, lambda x: -x),
         put(1, lambda x: x[:-1])),
    ),
    Piece(
        "echo", "echo", lambda: [tones(50_000), [400, 950], [0.5, 0.3]], REPLAYED,
        (put(2, lambda g: [0.1, 0.2]), lambda a: a[1].__setitem__(0, 700),
         lambda a: a.append(np.empty_like(a[0])), put(3, lambda y: y[::-1]),
         lambda a: a[1].append(30)),
    ),
    Piece(
        "recursive filter", "biquad",
        lambda: [tones(1200).reshape(8, 150), (0.2, 0.4, 0.2), (-0.5, 0.3)], UNFUSED,
        (put(2, lambda a: (-0.4, 0.2)),), calls=3, steady=False,
    ),
    Piece(
        "peaks", "peaks", lambda: [tones(50_000), 1.0], ANEW,
        (put(1, lambda v: 1.5), put(0, lambda x: x[::2]), put(1, lambda v: 100.0)),
    ),
    Piece(
        "analytic signal", "analytic", lambda: [tones(30_000), 0.05], REPLAYED,
        (put(1, lambda f: 0.5), put(0, lambda x: -2 * x), put(0, lambda x: x[:8000])),
    ),
    Piece(
        "spectral features", "features", make_features, REPLAYED,
        (lambda a: a.append(0.5), put(0, lambda f: f[:20]), lambda a: a[1].update(seen=0),
         put(0, lambda f: f * 2)),
    ),
]  # fmt: skip
