"""Pack labelled pictures into .dts files."""

from dts.export.export import export_dataset, export_folder
from dts.export.run import ExportResult

__all__ = ["ExportResult", "export_dataset", "export_folder"]
