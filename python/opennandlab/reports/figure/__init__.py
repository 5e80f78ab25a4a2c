"""Figures: one model, and two renderers of it.

```text
view ──► Plot | Relief | Stack ──► static       matplotlib: SVG, PNG, pages of a PDF
         `model`               └─► interactive  plotly: the page on screen
```
Both renderers take the ends and ticks of axes from `scale`, the places of labels from `labels` and
all colours from `colours`, so that they show the same thing. Nothing here reads a document.
"""
