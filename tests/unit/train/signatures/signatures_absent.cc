// What Keras and TensorFlow's Estimator have and Tenon has not, with the reason: rows of tests/golden/signatures.csv, and
// arguments of the rows that are there. What is added to Tenon is taken from here, which the test asks for.
#include "unit/train/signatures/signatures_testing.h"

namespace tenon::signatures {
namespace {

constexpr const char* kOneObject = "an Estimator is the one for TPUs, too, with RunConfig::tpu and EstimatorSpec";
constexpr const char* kNoSavedModel =
    "there is no SavedModel: models are exported as signatures (tenon/export_output.h)";
constexpr const char* kDatasets = "Dataset has it: image_files, take and skip";
constexpr const char* kBuilt = "no model comes with the library: models_test builds them of layers";

}  // namespace

const Reasons& absent_rows() {
  static const Reasons all{
      {"layers.InputLayer", "Input() makes symbols; nothing needs a layer of them"},
      {"utils.Progbar", "fit draws it"},
      {"utils.image_dataset_from_directory", kDatasets},
      {"utils.split_dataset", kDatasets},
      {"utils.to_categorical", "one_hot of ops.h"},
      {"utils.set_random_seed", "StrategyOptions::seed and RunConfig::seed"},
      {"applications.ResNet50", kBuilt},
      {"applications.MobileNetV2", kBuilt},
      {"applications.EfficientNetB0", kBuilt},
      {"applications.Xception", kBuilt},
      {"applications.DenseNet121", kBuilt},
      {"applications.VGG16", kBuilt},
      {"estimator 2.15.TPURunConfig", kOneObject},
      {"estimator 2.15.TPUEstimatorSpec", kOneObject},
      {"estimator 2.15.TPUEstimator", kOneObject},
      {"estimator 2.15.export_saved_model", kNoSavedModel},
      {"estimator 2.15.LatestExporter", kNoSavedModel},
      {"estimator 2.15.FinalExporter", kNoSavedModel},
      {"estimator 2.15.BestExporter", kNoSavedModel},
      {"estimator 2.15.ServingInputReceiver", kNoSavedModel},
      {"estimator 2.15.build_parsing_serving_input_receiver_fn", kNoSavedModel},
      {"estimator 2.15.build_raw_serving_input_receiver_fn", kNoSavedModel},
      {"estimator 2.15.make_early_stopping_hook", "a TrainingHook of one's own ends training by after_run()"},
      {"estimator 2.15.make_stop_at_checkpoint_step_hook", "one process trains: nobody waits for another's checkpoint"},
      {"estimator 2.15.GlobalStepWaiterHook", "one process trains: nobody waits for another"},
      {"estimator 2.15.InMemoryEvaluatorHook", "train_and_evaluate evaluates in memory"},
      {"estimator 2.15.VocabInfo", "warm start has no vocabularies"},
  };
  return all;
}

const Reasons& absent_arguments() {
  static const char* const kCall = "of the call, by position";
  static const char* const kSeed = "draws depend on the Strategy's seed, the step and the layer's name";
  static const char* const kGraph = "of TensorFlow's graphs and sessions";
  static const char* const kByName = "results always have names: Logs";
  static const char* const kBoard = "the projector of embeddings is not written for";
  static const char* const kSummary = "the table is Keras's, of all layers";
  static const char* const kOverwrites = "files are replaced as a whole";
  static const char* const kDevice = "the device says how many units there are; one process has them all";
  static const char* const kExperiment = "an experiment of TensorFlow's";
  static const char* const kEvaluates = "evaluation is each TrainSpec::steps_between_evals steps";
  static const char* const kSpecHooks = "hooks are given to train() and train_and_evaluate()";
  static const char* const kProfile = "it traces one span of steps, and writes all of it (ProfileOptions)";
  static const char* const kRenorm = "batch renormalization is not there";
  static const char* const kFirst = "values_initializer()";
  static const char* const kDense = "tensors are dense";
  static const char* const kAdafactor = "the update has Keras's default";
  static const char* const kLastAxis = "the last one, as by default; transpose() brings another there";
  static const char* const kAxes = "fans are those of the kernel's last two axes, as Keras has them by default";
  static const Reasons all{
      {"seed", kSeed},
      {"x", kCall},
      {"y", kCall},
      {"input_fn", kCall},
      {"sample_weight", kCall},
      {"class_weight", kCall},
      {"saving_listeners", "RunEvents::on_checkpoint is told"},
      {"use_cudnn", "backends choose their kernels"},
      {"flash_attention", "backends choose their kernels"},
      {"unroll", "steps are always unrolled"},
      {"autocast", "the dtype policy is the Strategy's"},
      {"sliding_window", "an attention_mask says so"},
      {"use_gate", "new in Keras 3.15, and rare"},
      {"input_axes", kAxes},
      {"output_axes", kAxes},
      {"return_dict", kByName},
      {"scaffold", kGraph},
      {"eval_dir", "results come from memory, not from event files"},
      {"run_every_secs", "looked at after each evaluation"},
      {"run_every_steps", "looked at after each evaluation"},
      {"relative_step", "it is, as by default"},
      // ---- of one row ----
      {"layers.BatchNormalization.renorm", kRenorm},
      {"layers.BatchNormalization.renorm_clipping", kRenorm},
      {"layers.BatchNormalization.renorm_momentum", kRenorm},
      {"layers.Bidirectional.backward_layer", "the second layer of a constructor of its own"},
      {"layers.Bidirectional.weights", kFirst},
      {"layers.CategoryEncoding.sparse", kDense},
      {"layers.Dropout.noise_shape", "SpatialDropout1D and 2D draw for channels"},
      {"layers.Embedding.weights", kFirst},
      {"layers.GroupNormalization.axis", kLastAxis},
      {"layers.Input.shape", kCall},
      {"layers.Input.batch_shape", "the batch is known when the model is called"},
      {"layers.Input.batch_size", "the batch is known when the model is called"},
      {"layers.Input.optional", "an input is always given"},
      {"layers.Input.ragged", kDense},
      {"layers.Input.sparse", kDense},
      {"layers.Input.tensor", "a Symbol is one already"},
      {"layers.Layer.activity_regularizer", "options of the layers that compute something have it"},
      {"layers.Layer.trainable", "set_trainable(), true at first; and options have it"},
      {"layers.MultiHeadAttention.attention_axes", "it attends along the axis behind the batch"},
      {"layers.RMSNormalization.axis", kLastAxis},
      {"layers.Resizing.fill_mode", "constant, the only one that Keras has"},
      {"layers.UnitNormalization.axis", kLastAxis},
      {"metrics.AUC.num_labels", "the predictions' shape says it"},
      {"metrics.ConcordanceCorrelation.axis", kLastAxis},
      {"metrics.IoU.axis", kLastAxis},
      {"metrics.MeanIoU.axis", kLastAxis},
      {"metrics.OneHotIoU.axis", kLastAxis},
      {"metrics.OneHotMeanIoU.axis", kLastAxis},
      {"metrics.PearsonCorrelation.axis", kLastAxis},
      {"metrics.OneHotIoU.sparse_y_pred", "predictions are scores, as by default"},
      {"metrics.OneHotMeanIoU.sparse_y_pred", "predictions are scores, as by default"},
      {"metrics.R2Score.num_regressors", "0, as by default: no correction for their number"},
      {"metrics.SparseTopKCategoricalAccuracy.from_sorted_ids", "predictions are scores"},
      {"optimizers.Adafactor.beta_2_decay", kAdafactor},
      {"optimizers.Adafactor.clip_threshold", kAdafactor},
      {"callbacks.BackupAndRestore.double_checkpoint", "it always is: what the metadata name is whole"},
      {"callbacks.TensorBoard.embeddings_freq", kBoard},
      {"callbacks.TensorBoard.embeddings_metadata", kBoard},
      {"callbacks.TensorBoard.profile_batch", "ProfilerHook, and tenon train --profile"},
      {"initializers.VarianceScaling.scale", kCall},
      {"initializers.VarianceScaling.mode", kCall},
      {"initializers.VarianceScaling.distribution", kCall},
      {"Model.compile.auto_scale_loss", "compile() always scales it with mixed_float16"},
      {"Model.compile.jit_compile", "what is traced is always compiled"},
      {"Model.compile.run_eagerly", "what is traced is always compiled"},
      {"Model.summary.layer_range", kSummary},
      {"Model.summary.positions", kSummary},
      {"Model.summary.print_fn", "summary_text() gives it"},
      {"Model.save.overwrite", kOverwrites},
      {"Model.save.zipped", "files are checkpoints or safetensors"},
      {"Model.save_weights.max_shard_size", "a checkpoint has one file of data"},
      {"Model.save_weights.overwrite", kOverwrites},
      {"estimator 2.15.RunConfig.checkpoint_save_graph_def", kGraph},
      {"estimator 2.15.RunConfig.device_fn", kGraph},
      {"estimator 2.15.RunConfig.eval_distribute", kDevice},
      {"estimator 2.15.RunConfig.experimental_distribute", kDevice},
      {"estimator 2.15.RunConfig.experimental_max_worker_delay_secs", kDevice},
      {"estimator 2.15.RunConfig.protocol", kGraph},
      {"estimator 2.15.RunConfig.session_config", kGraph},
      {"estimator 2.15.RunConfig.session_creation_timeout_secs", kGraph},
      {"estimator 2.15.RunConfig.train_distribute", kDevice},
      {"estimator 2.15.TPUConfig.experimental_allow_per_host_v2_parallel_get_next", kExperiment},
      {"estimator 2.15.TPUConfig.experimental_feed_hook", kExperiment},
      {"estimator 2.15.TPUConfig.experimental_host_call_every_n_steps", kExperiment},
      {"estimator 2.15.TPUConfig.input_partition_dims", "an example is not dealt over cores"},
      {"estimator 2.15.TPUConfig.tpu_job_name", kGraph},
      {"estimator 2.15.EvalSpec.exporters", kNoSavedModel},
      {"estimator 2.15.EvalSpec.start_delay_secs", kEvaluates},
      {"estimator 2.15.EvalSpec.throttle_secs", kEvaluates},
      {"estimator 2.15.EstimatorSpec.evaluation_hooks", kSpecHooks},
      {"estimator 2.15.EstimatorSpec.prediction_hooks", kSpecHooks},
      {"estimator 2.15.EstimatorSpec.training_chief_hooks", kSpecHooks},
      {"estimator 2.15.EstimatorSpec.training_hooks", kSpecHooks},
      {"estimator 2.15.WarmStartSettings.var_name_to_vocab_info", "warm start has no vocabularies"},
      {"estimator 2.15.Estimator.config", "to be given: {} is the default one"},
      {"estimator 2.15.predict.checkpoint_path", kCall},
      {"estimator 2.15.predict.predict_keys", "all predictions are given"},
      {"estimator 2.15.predict.yield_single_examples", "rows are given one by one, as by default"},
      {"estimator 2.15.CheckpointSaverHook.listeners", "RunEvents::on_checkpoint is told"},
      {"estimator 2.15.CheckpointSaverHook.save_graph_def", kGraph},
      {"estimator 2.15.CheckpointSaverHook.saver", kGraph},
      {"estimator 2.15.StepCounterHook.summary_writer", kGraph},
      {"estimator 2.15.SummarySaverHook.output_dir", kCall},
      {"estimator 2.15.SummarySaverHook.summary_op", kGraph},
      {"estimator 2.15.SummarySaverHook.summary_writer", kGraph},
      {"estimator 2.15.ProfilerHook.save_secs", kProfile},
      {"estimator 2.15.ProfilerHook.save_steps", kProfile},
      {"estimator 2.15.ProfilerHook.show_dataflow", kProfile},
      {"estimator 2.15.ProfilerHook.show_memory", kProfile},
      {"estimator 2.15.CrossShardOptimizer.group_assignment", "all replicas are one group"},
      {"estimator 2.15.CrossShardOptimizer.reduction", "gradients are the mean over the replicas, as by default"},
  };
  return all;
}

}  // namespace tenon::signatures
