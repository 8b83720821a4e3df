// Keras's callbacks, with its names and defaults.
//
//   EarlyStopping stop({.patience = 3, .restore_best_weights = true});
//   model.fit(train, {.epochs = 20, .validation_data = test, .callbacks = {stop, ModelCheckpoint("m_{epoch:02d}")}});
//   if (stop.stopped_epoch()) print(*stop.stopped_epoch(), stop.best());
//
// An Estimator takes them too: a call of train() is one epoch, and in train_and_evaluate() an epoch reaches from one
// evaluation to the next, the results of which are its "val_loss" and so on.
//
// Constructors throw tenon::Error that names the callback and the argument. One object serves one call at a time and
// may be given to the next, where it begins anew. `verbose` 1 says what it does, in Keras's words. Files and
// directories that are missing are made; each file is there whole or not at all.
#pragma once

#include "tenon/callbacks/control.h"
#include "tenon/callbacks/logging.h"
#include "tenon/callbacks/monitor.h"
#include "tenon/callbacks/saving.h"
