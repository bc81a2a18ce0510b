"""Harbor needs a newer Python than everything else: without one, `.ci/harbor/install` says so."""

from tests.evaluation.harbor import ROOT

collect_ignore_glob = ["test_*.py"] if (ROOT / "build" / "harbor-missing").exists() else []
