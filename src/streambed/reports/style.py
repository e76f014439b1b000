"""How figures look, in a light and a dark theme; the colours suit colour-blind readers."""

from __future__ import annotations

from typing import Any, Literal

Theme = Literal["light", "dark"]

COLOURS: dict[Theme, tuple[str, ...]] = {
    "light": (
        "#0072b2",
        "#d55e00",
        "#009e73",
        "#cc79a7",
        "#8a6d00",
        "#56b4e9",
        "#e69f00",
        "#5b4fa3",
    ),
    "dark": (
        "#56b4e9",
        "#e69f00",
        "#2fc79a",
        "#e79fc4",
        "#f0e442",
        "#c7d0dc",
        "#ff6f61",
        "#b3a6ff",
    ),
}
"""Okabe and Ito's palette, darkened or lightened where its contrast is too low."""

FATES: dict[Theme, tuple[str, ...]] = {
    "light": ("#b2182b", "#e69f00", "#8b8f98", "#5b4fa3", "#a6cee3"),
    "dark": ("#ff5a4f", "#f0c24b", "#8b93a1", "#b3a6ff", "#2d5f86"),
}
"""Records in the delivery heat map: lost, undecided, unacked, duplicated, delivered (muted)."""

RAMP: dict[Theme, tuple[str, ...]] = {
    "light": ("#eef2f7", "#56a5d8", "#08306b"),
    "dark": ("#1c2430", "#2d78ad", "#d9f0ff"),
}
"""Throughput in heat maps, from low to high."""

DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
"""When the colours are used up, they repeat with the next dash."""

INK: dict[Theme, dict[str, str]] = {
    "light": {
        "ground": "#f7f6f3",
        "back": "#ffffff",
        "text": "#22262b",
        "soft": "#636b74",
        "grid": "#e6e4df",
        "accent": "#3f7f93",
        "fault": "#b8622c",
        "doubt": "#7a7f86",
        "holds": "#2f7d5b",
        "fails": "#b5483a",
        "unknown": "#7a7f86",
    },
    "dark": {
        "ground": "#15181b",
        "back": "#1d2125",
        "text": "#e4e6e8",
        "soft": "#a0a7af",
        "grid": "#2c3237",
        "accent": "#6bb0c4",
        "fault": "#e3995f",
        "doubt": "#939aa2",
        "holds": "#5cb58c",
        "fails": "#e0796c",
        "unknown": "#939aa2",
    },
}
FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', Arial, sans-serif"


def config(theme: Theme) -> dict[str, Any]:
    """The Vega-Lite configuration of a theme; figures name its styles instead of colours."""
    ink = INK[theme]
    return {
        "background": ink["back"],
        "font": FONT,
        "padding": {"left": 4, "right": 16, "top": 4, "bottom": 4},
        "view": {"stroke": None},
        "range": {
            "category": list(COLOURS[theme]),
            "heatmap": list(FATES[theme]),
            "ramp": list(RAMP[theme]),
        },
        "title": {
            "anchor": "start",
            "color": ink["text"],
            "subtitleColor": ink["soft"],
            "fontSize": 15,
            "subtitleFontSize": 11,
            "offset": 10,
        },
        "axis": _axis(ink),
        "axisQuantitative": {"tickCount": 5},
        "legend": _legend(ink),
        "line": {"strokeWidth": 1.6},
        "style": _styles(theme),
    }


def _styles(theme: Theme) -> dict[str, Any]:
    ink = INK[theme]
    name = {"fontSize": 10, "fontWeight": "bold", "align": "left"}
    outline = {"stroke": ink["back"], "opacity": 1}
    return {
        "fault": {"color": ink["fault"], "opacity": 0.14},
        "fault_name": {"color": ink["fault"], **name},
        "fault_band": {"color": ink["fault"], "opacity": 0.28},
        "bar_name": {"color": ink["text"], **name, "fontWeight": "normal"},
        "cursor": {"color": ink["soft"], "strokeWidth": 1},
        "limit": {"color": ink["fails"], "strokeWidth": 1.5, "strokeDash": [5, 3]},
        "limit_name": {"color": ink["fails"], **name, "baseline": "bottom"},
        "shown": {"color": ink["fails"], "opacity": 0.25},
        "doubt": {"color": ink["soft"], "strokeWidth": 4, "strokeDash": [2, 3], "opacity": 0.7},
        "doubt_name": {"color": ink["soft"], **name},
        "wire": {"color": ink["soft"], "strokeWidth": 1.5},
        "hit_wire": {"color": ink["fault"]},
        "hit_node": {"color": ink["fault"], "strokeWidth": 2, **outline},
        "hit_name": {"color": ink["fault"], **name, "align": "center"},
        "node": {"color": ink["accent"], "strokeWidth": 2, **outline},
        "switch": {"color": ink["soft"], "strokeWidth": 2, **outline},
        "label": {"color": ink["text"], "fontSize": 12},
        "moment": {"color": ink["text"], "strokeWidth": 1, **outline},
        "soft": {"color": ink["soft"], "fontSize": 11},
        "halo": {
            "color": ink["back"],
            "stroke": ink["back"],
            "strokeWidth": 9,
            "strokeJoin": "round",
            "fontSize": 11,
        },
    }


def _axis(ink: dict[str, str]) -> dict[str, Any]:
    return {
        "labelColor": ink["soft"],
        "titleColor": ink["soft"],
        "gridColor": ink["grid"],
        "domainColor": ink["grid"],
        "tickColor": ink["grid"],
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelLimit": 240,
    }


def _legend(ink: dict[str, str]) -> dict[str, Any]:
    return {
        "orient": "bottom",
        "direction": "horizontal",
        "columns": 4,
        "title": None,
        "labelColor": ink["text"],
        "labelFontSize": 11,
        "labelLimit": 220,
        "symbolStrokeWidth": 2.5,
        "symbolOpacity": 1,
        "rowPadding": 4,
        "columnPadding": 18,
    }
