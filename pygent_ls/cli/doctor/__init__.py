"""Command `pygent-ls doctor`: reports whether a turn can run here, with what, and why."""

from pygent_ls.cli.doctor.report import Surveyed as Surveyed
from pygent_ls.cli.doctor.report import doctor as doctor
