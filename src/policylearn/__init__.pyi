from .prediction.estimators import PolicyLearnClassifier as PolicyLearnClassifier
from .prediction.estimators import PolicyLearnRegressor as PolicyLearnRegressor
from .prediction.predictor import Predictor as Predictor
from .prediction.predictor import load as load

__version__: str
