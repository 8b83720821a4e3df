#!/usr/bin/env python3
"""Models of scikit-learn, exported to ONNX by skl2onnx: Tenon's outputs beside ONNX Runtime's.

Usage: check_onnx_sklearn.py TENON [NAME..]
       check_onnx_sklearn.py --keep DIRECTORY NAME..       writes their cases there, as tests/fixtures/onnx has them

Outputs of both are numbers: labels are integers, probabilities come without ZipMap, unless a case is one of it. Prints one line a model;
exits 1 when one fails that is not known to be refused.
"""
import pathlib
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import skl2onnx  # noqa: E402
import sklearn  # noqa: E402
from onnx_cases import answers_of, compare, keep, write_case  # noqa: E402
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType  # noqa: E402
from sklearn import (cluster, compose, decomposition, discriminant_analysis, ensemble, feature_selection, gaussian_process, impute,  # noqa: E402
                     linear_model, mixture, multiclass, multioutput, naive_bayes, neighbors, neural_network, pipeline, preprocessing, svm, tree)

ROWS, FEATURES, TESTED = 120, 6, 12
TOLERANCE = 1e-4  # relative and absolute, of what outputs may differ
REFUSED = {"imputer_knn"}  # its shapes hang on numbers
RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(ROWS, FEATURES)).astype(np.float32)
TWO = (X[:, 0] + X[:, 1] * X[:, 2] > 0.2).astype(np.int64)
THREE = np.digitize(X[:, 0] + 0.3 * X[:, 3], [-0.5, 0.5]).astype(np.int64)
REAL = (2 * X[:, 0] - X[:, 1] + X[:, 2] * X[:, 3]).astype(np.float32)
PAIR = np.stack([REAL, X[:, 4] - REAL], 1)
COUNTS = RANDOM.integers(0, 5, (ROWS, FEATURES)).astype(np.float32)
HOLES = np.where(RANDOM.random((ROWS, FEATURES)) < 0.1, np.nan, X).astype(np.float32)
CODES = RANDOM.integers(0, 4, (ROWS, FEATURES)).astype(np.int64)
LABELS = {"2": TWO, "3": THREE}

CLASSIFIERS = {
    "logistic": linear_model.LogisticRegression(),
    "logistic_cv": linear_model.LogisticRegressionCV(cv=3),
    "ridge": linear_model.RidgeClassifier(),
    "sgd": linear_model.SGDClassifier(random_state=1),
    "sgd_log": linear_model.SGDClassifier(loss="log_loss", random_state=1),
    "perceptron": linear_model.Perceptron(random_state=1),
    "passive": linear_model.SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, random_state=1),
    "linear_svc": svm.LinearSVC(random_state=1),  # has no probabilities
    "svc": svm.SVC(),
    "svc_linear": svm.SVC(kernel="linear"),
    "svc_poly": svm.SVC(kernel="poly", degree=2, coef0=1.0),
    "svc_sigmoid": svm.SVC(kernel="sigmoid"),
    "svc_ovo": svm.SVC(decision_function_shape="ovo"),
    "svc_proba": svm.SVC(probability=True, random_state=1),
    "nu_svc": svm.NuSVC(nu=0.3),
    "nu_svc_proba": svm.NuSVC(nu=0.3, probability=True, random_state=1),
    "tree": tree.DecisionTreeClassifier(max_depth=5, random_state=1),
    "extra_tree": tree.ExtraTreeClassifier(max_depth=5, random_state=1),
    "forest": ensemble.RandomForestClassifier(12, max_depth=5, random_state=1),
    "extra_trees": ensemble.ExtraTreesClassifier(12, max_depth=5, random_state=1),
    "boosting": ensemble.GradientBoostingClassifier(n_estimators=15, random_state=1),
    "hist_boosting": ensemble.HistGradientBoostingClassifier(max_iter=15, random_state=1),
    "ada": ensemble.AdaBoostClassifier(n_estimators=5, random_state=1),
    "bagging": ensemble.BaggingClassifier(n_estimators=4, random_state=1),
    "voting": ensemble.VotingClassifier([("a", linear_model.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=4, random_state=1))], voting="soft", flatten_transform=False),
    "voting_hard": ensemble.VotingClassifier([("a", linear_model.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=4, random_state=1)),
                                              ("c", naive_bayes.GaussianNB())], flatten_transform=False),
    "stacking": ensemble.StackingClassifier([("a", linear_model.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=4, random_state=1))]),
    "mlp": neural_network.MLPClassifier((16, 8), max_iter=200, random_state=1),
    "knn": neighbors.KNeighborsClassifier(5),
    "knn_distance": neighbors.KNeighborsClassifier(4, weights="distance"),
    "gaussian_nb": naive_bayes.GaussianNB(),
    "lda": discriminant_analysis.LinearDiscriminantAnalysis(),
    "qda": discriminant_analysis.QuadraticDiscriminantAnalysis(),
    "ovr": multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
    "ovo": multiclass.OneVsOneClassifier(linear_model.LogisticRegression()),
}
REGRESSORS = {
    "linear": linear_model.LinearRegression(),
    "ridge": linear_model.Ridge(),
    "lasso": linear_model.Lasso(0.1),
    "elastic": linear_model.ElasticNet(0.1),
    "bayesian": linear_model.BayesianRidge(),
    "huber": linear_model.HuberRegressor(),
    "sgd": linear_model.SGDRegressor(random_state=1),
    "ransac": linear_model.RANSACRegressor(random_state=1),
    "poisson": linear_model.PoissonRegressor(),
    "svr": svm.SVR(),
    "svr_linear": svm.SVR(kernel="linear"),
    "svr_poly": svm.SVR(kernel="poly", degree=3, coef0=0.5),
    "nu_svr": svm.NuSVR(),
    "linear_svr": svm.LinearSVR(random_state=1),
    "tree": tree.DecisionTreeRegressor(max_depth=5, random_state=1),
    "forest": ensemble.RandomForestRegressor(12, max_depth=5, random_state=1),
    "extra_trees": ensemble.ExtraTreesRegressor(12, max_depth=5, random_state=1),
    "boosting": ensemble.GradientBoostingRegressor(n_estimators=15, random_state=1),
    "hist_boosting": ensemble.HistGradientBoostingRegressor(max_iter=15, random_state=1),
    "ada": ensemble.AdaBoostRegressor(n_estimators=5, random_state=1),
    "bagging": ensemble.BaggingRegressor(n_estimators=4, random_state=1),
    "voting": ensemble.VotingRegressor([("a", linear_model.LinearRegression()), ("b", tree.DecisionTreeRegressor(max_depth=4, random_state=1))]),
    "stacking": ensemble.StackingRegressor([("a", linear_model.LinearRegression()), ("b", tree.DecisionTreeRegressor(max_depth=4, random_state=1))]),
    "mlp": neural_network.MLPRegressor(hidden_layer_sizes=(16, 8), max_iter=200, random_state=1),
    "knn": neighbors.KNeighborsRegressor(5),
    "knn_distance": neighbors.KNeighborsRegressor(4, weights="distance"),
    "gaussian_process": gaussian_process.GaussianProcessRegressor(gaussian_process.kernels.RBF(), alpha=0.1),
}
TRANSFORMERS = {
    "standard": (preprocessing.StandardScaler(), X),
    "min_max": (preprocessing.MinMaxScaler(clip=True), X),
    "max_abs": (preprocessing.MaxAbsScaler(), X),
    "robust": (preprocessing.RobustScaler(), X),
    "normalizer_l1": (preprocessing.Normalizer("l1"), X),
    "normalizer_l2": (preprocessing.Normalizer("l2"), X),
    "normalizer_max": (preprocessing.Normalizer("max"), X),
    "binarizer": (preprocessing.Binarizer(threshold=0.3), X),
    "polynomial": (preprocessing.PolynomialFeatures(2), X),
    "power": (preprocessing.PowerTransformer(), X),
    "power_box_cox": (preprocessing.PowerTransformer("box-cox"), np.abs(X) + 0.5),
    "quantile": (preprocessing.QuantileTransformer(n_quantiles=20), X),
    "bins": (preprocessing.KBinsDiscretizer(4, encode="ordinal", quantile_method="linear"), X),
    "bins_one_hot": (preprocessing.KBinsDiscretizer(4, encode="onehot-dense", quantile_method="linear"), X),
    "one_hot": (preprocessing.OneHotEncoder(sparse_output=False, handle_unknown="ignore"), CODES),
    "one_hot_float": (preprocessing.OneHotEncoder(sparse_output=False, handle_unknown="ignore"), COUNTS),
    "ordinal": (preprocessing.OrdinalEncoder(), CODES),
    "target": (preprocessing.TargetEncoder(random_state=1), CODES),
    "function": (preprocessing.FunctionTransformer(), X),
    "imputer_mean": (impute.SimpleImputer(), HOLES),
    "imputer_median": (impute.SimpleImputer(strategy="median"), HOLES),
    "imputer_constant": (impute.SimpleImputer(strategy="constant", fill_value=-1), HOLES),
    "imputer_indicator": (impute.SimpleImputer(add_indicator=False, strategy="most_frequent"), HOLES),
    "imputer_knn": (impute.KNNImputer(n_neighbors=3), HOLES),
    "pca": (decomposition.PCA(3), X),
    "pca_whiten": (decomposition.PCA(3, whiten=True), X),
    "incremental_pca": (decomposition.IncrementalPCA(3), X),
    "truncated_svd": (decomposition.TruncatedSVD(3, random_state=1), X),
    "kernel_pca": (decomposition.KernelPCA(3, kernel="rbf"), X),
    "variance": (feature_selection.VarianceThreshold(0.9), X),
    "k_best": (feature_selection.SelectKBest(k=3), X),
    "from_model": (feature_selection.SelectFromModel(linear_model.Lasso(0.3)), X),
    "kmeans": (cluster.KMeans(3, n_init=2, random_state=1), X),
    "mini_batch_kmeans": (cluster.MiniBatchKMeans(3, n_init=2, random_state=1), X),
    "mixture": (mixture.GaussianMixture(2, random_state=1), X),
    "mixture_diag": (mixture.GaussianMixture(2, covariance_type="diag", random_state=1), X),
    "isolation": (ensemble.IsolationForest(n_estimators=8, random_state=1), X),
    "local_outliers": (neighbors.LocalOutlierFactor(8, novelty=True), X),
    "one_class": (svm.OneClassSVM(nu=0.2), X),
    "embedding": (ensemble.RandomTreesEmbedding(4, max_depth=2, sparse_output=False, random_state=1), X),
}


def columns():
    """Numbers scaled, those with holes filled, codes as one hot, then a classifier."""
    numbers = pipeline.make_pipeline(impute.SimpleImputer(strategy="median"), preprocessing.StandardScaler())
    parts = compose.ColumnTransformer([("numbers", numbers, [0, 1, 2]), ("rest", preprocessing.MinMaxScaler(), [3, 4]),
                                       ("codes", preprocessing.OneHotEncoder(handle_unknown="ignore"), [5])])
    x = np.concatenate([HOLES[:, :3], X[:, 3:5], COUNTS[:, :1]], 1)
    return pipeline.make_pipeline(parts, linear_model.LogisticRegression()), x


def cases():
    """By name: a model that is fitted, its rows, options of the export."""
    for name, model in CLASSIFIERS.items():
        for classes, labels in LABELS.items():
            yield f"{name}_{classes}", lambda model=model, labels=labels: (
                pipeline.make_pipeline(preprocessing.StandardScaler(), sklearn.base.clone(model)).fit(X, labels), X,
                {} if isinstance(model, svm.LinearSVC) else {"zipmap": False})
    for name in ("multinomial_nb", "bernoulli_nb", "complement_nb", "categorical_nb"):
        model = getattr(naive_bayes, "".join(part.capitalize() for part in name.split("_")[:-1]) + "NB")()
        rows = CODES if name == "categorical_nb" else COUNTS
        yield name, lambda model=model, rows=rows: (model.fit(rows, THREE), rows, {"zipmap": False})
    yield "zip_map", lambda: (linear_model.LogisticRegression().fit(X, THREE), X, {})
    yield "calibrated", lambda: (sklearn.calibration.CalibratedClassifierCV(linear_model.LogisticRegression(), cv=2).fit(X, TWO), X, {"zipmap": False})
    yield "columns", lambda: (columns()[0].fit(columns()[1], THREE), columns()[1], {"zipmap": False})
    yield "outputs_forest", lambda: (ensemble.RandomForestRegressor(5, max_depth=4, random_state=1).fit(X, PAIR), X, {})
    yield "outputs_linear", lambda: (linear_model.LinearRegression().fit(X, PAIR), X, {})
    yield "outputs_mlp", lambda: (neural_network.MLPRegressor(hidden_layer_sizes=(8,), max_iter=100, random_state=1).fit(X, PAIR), X, {})
    yield "outputs_each", lambda: (multioutput.MultiOutputRegressor(linear_model.Ridge()).fit(X, PAIR), X, {})
    for name, model in REGRESSORS.items():
        target = np.abs(REAL) if name == "poisson" else REAL
        yield f"{name}_regressor", lambda model=model, target=target: (
            pipeline.make_pipeline(preprocessing.StandardScaler(), sklearn.base.clone(model)).fit(X, target), X, {})
    for name, (model, rows) in TRANSFORMERS.items():
        yield name, lambda model=model, rows=rows: (sklearn.base.clone(model).fit(rows, REAL if model.__class__.__name__ != "TargetEncoder" else TWO), rows, {})


def with_integers(make_attribute):
    """skl2onnx 1.20 gives flags of histogram trees as booleans, which protobuf's newer releases do not take."""
    def make(key, value, *rest, **named):
        if isinstance(value, (list, np.ndarray)) and len(value) and isinstance(value[0], (bool, np.bool_)):
            value = [int(v) for v in value]
        return make_attribute(key, value, *rest, **named)
    return make


onnx.helper.make_attribute = with_integers(onnx.helper.make_attribute)


def export(make):
    model, rows, options = make()
    kind = Int64TensorType if rows.dtype == np.int64 else FloatTensorType
    last = model.steps[-1][1] if isinstance(model, pipeline.Pipeline) else model
    proto = skl2onnx.to_onnx(model, initial_types=[("x", kind([None, rows.shape[1]]))],
                             options={id(last): options} if options else None, target_opset={"": 21, "ai.onnx.ml": 3})
    return proto, [rows[:TESTED]]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    made = dict(cases())
    if sys.argv[1] == "--keep":
        return keep(pathlib.Path(sys.argv[2]), {name: (lambda name=name: export(made[name])) for name in sys.argv[3:]})
    with tempfile.TemporaryDirectory(prefix="tenon-sklearn-") as temporary:
        root = pathlib.Path(temporary)
        for name in sys.argv[2:] or made:
            try:
                proto, inputs = export(made[name])
            except Exception as error:  # noqa: BLE001: what skl2onnx does not export is none of Tenon's affairs
                print(f"skipped {name}: {str(error).splitlines()[0][:120] if str(error) else type(error).__name__}", flush=True)
                continue
            try:
                expected = answers_of(proto, inputs)
            except Exception as error:  # noqa: BLE001
                print(f"skipped {name}: ONNX Runtime: {str(error).splitlines()[0][:120]}", flush=True)
                continue
            write_case(root / name, proto, [(inputs, expected)])
        return compare(sys.argv[1], root, TOLERANCE,
                       f"models as scikit-learn {sklearn.__version__} and skl2onnx {skl2onnx.__version__} export them, ONNX {onnx.__version__}", REFUSED)


if __name__ == "__main__":
    sys.exit(main())
