"""What `pygent-ls doctor` says: whether a turn could run here, with what, and why."""

from pygent_ls.doctor.report import Surveyed as Surveyed
from pygent_ls.doctor.report import doctor as doctor
