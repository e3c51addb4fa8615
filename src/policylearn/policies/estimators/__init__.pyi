from .imle import Imle as Imle
from .imle import Solver as Solver
from .protocol import ESTIMATORS as ESTIMATORS
from .protocol import Estimator as Estimator
from .reinforce import Reinforce as Reinforce
from .straight_through import StraightThrough as StraightThrough
