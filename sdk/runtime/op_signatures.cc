// The signature of each published op, version 1, as the op set has it.
#include "tenon/plugin/op_attributes.h"

namespace tenon::plugin {
namespace {

struct Published {
  std::string_view op, signature;
};

constexpr Published kPublished[] = {
    {"iota", "; shape:list axis:i64 dtype:dtype -> y"},
    {"random", "seed:I step:I ; stream:i64 shape:list per_replica:bool=false -> y"},
    {"neg", "x:N -> y"},
    {"abs", "x:N -> y"},
    {"floor", "x:F -> y"},
    {"round", "x:F -> y"},
    {"exp", "x:F -> y"},
    {"expm1", "x:F -> y"},
    {"log", "x:F -> y"},
    {"log1p", "x:F -> y"},
    {"sqrt", "x:F -> y"},
    {"sin", "x:F -> y"},
    {"cos", "x:F -> y"},
    {"tanh", "x:F -> y"},
    {"erf", "x:F -> y"},
    {"add", "a:N b:N -> y"},
    {"sub", "a:N b:N -> y"},
    {"mul", "a:N b:N -> y"},
    {"div", "a:N b:N -> y"},
    {"max", "a:M b:M -> y"},
    {"min", "a:M b:M -> y"},
    {"pow", "a:F b:F -> y"},
    {"atan2", "a:F b:F -> y"},
    {"compare", "a:A b:A ; kind:enum -> y"},
    {"select", "c:B a:A b:A -> y"},
    {"cast", "x:A ; to:dtype -> y"},
    {"reshape", "x:A ; shape:list -> y"},
    {"transpose", "x:A ; perm:list -> y"},
    {"broadcast", "x:A ; shape:list dims:list= -> y"},
    {"slice", "x:A ; start:list limit:list stride:list= -> y"},
    {"pad", "x:A ; low:list high:list interior:list= value:f64=0 -> y"},
    {"concat", "x:A.. ; axis:i64 -> y"},
    {"reverse", "x:A ; axes:list -> y"},
    {"gather", "x:A i:I ; axis:i64 batch:i64=0 -> y"},
    {"scatter", "x:A i:I u:A ; axis:i64 batch:i64=0 kind:enum=0 -> y"},
    {"sort", "x:N ; k:i64 descending:bool=false -> values indices"},
    {"reduce", "x:M ; axes:list kind:enum -> y"},
    {"dot", "a:F b:F ; ta:bool=false tb:bool=false precision:enum=0 out:dtype=none -> y"},
    {"conv", "x:F w:F ; strides:list= low:list= high:list= dilation:list= groups:i64=1 precision:enum=0 out:dtype=none -> y"},
    {"conv_grad_input", "dy:F w:F ; size:list strides:list= low:list= high:list= dilation:list= groups:i64=1 precision:enum=0 out:dtype=none -> dx"},
    {"conv_grad_filter", "x:F dy:F ; size:list strides:list= low:list= high:list= dilation:list= groups:i64=1 precision:enum=0 out:dtype=none -> dw"},
    {"all_gather", "x:A ; axis:i64 group:i64=0 replicas:i64=1 -> y"},
    {"replica_id", "-> y"},
    {"activation", "x:F ; act:enum alpha:f64=0 -> y"},
    {"activation_grad", "g:F t:F ; act:enum alpha:f64=0 -> dx"},
    {"dot_bias_act", "a:F b:F [bias:F] [residual:F] ; act:enum=0 alpha:f64=0 ta:bool=false tb:bool=false precision:enum=0 out:dtype=none -> y"},
    {"conv_bias_act", "x:F w:F [bias:F] [residual:F] ; act:enum=0 alpha:f64=0 strides:list= low:list= high:list= dilation:list= groups:i64=1 precision:enum=0 out:dtype=none -> y"},
    {"bias_act_grad", "g:F t:F ; act:enum=0 alpha:f64=0 -> dz dbias"},
    {"max_pool", "x:F ; window:list strides:list= low:list= high:list= -> y"},
    {"max_pool_grad", "x:F y:F dy:F ; window:list strides:list= low:list= high:list= -> dx"},
    {"avg_pool", "x:F ; window:list strides:list= low:list= high:list= count_pad:bool=false -> y"},
    {"avg_pool_grad", "dy:F ; size:list window:list strides:list= low:list= high:list= count_pad:bool=false -> dx"},
    {"batch_norm", "x:F gamma:F beta:F [residual:F] ; eps:f64=0.001 act:enum=0 alpha:f64=0 group:i64=1 -> y mean var"},
    {"batch_norm_grad", "dy:F x:F gamma:F mean:F var:F [y:F] ; eps:f64=0.001 act:enum=0 alpha:f64=0 group:i64=1 residual:bool=false -> dx dgamma dbeta [dresidual]"},
    {"batch_norm_apply", "x:F gamma:F beta:F mean:F var:F [residual:F] ; eps:f64=0.001 act:enum=0 alpha:f64=0 -> y"},
    {"softmax", "x:F ; axis:i64 -> y"},
    {"softmax_grad", "dy:F y:F ; axis:i64 -> dx"},
    {"log_softmax", "x:F ; axis:i64 -> y"},
    {"log_softmax_grad", "dy:F y:F ; axis:i64 -> dx"},
    {"softmax_cross_entropy", "x:F label:N ; on:f64=1 off:f64=0 ignore:i64=-9223372036854775808 -> loss lse"},
    {"softmax_cross_entropy_grad", "dloss:F x:F label:N lse:F ; on:f64=1 off:f64=0 ignore:i64=-9223372036854775808 -> dx"},
    {"dropout", "x:F seed:I step:I [residual:F] ; rate:f64 stream:i64 -> y"},
    {"argmax", "x:N ; axis:i64 kind:enum=2 -> y"},
    {"cumsum", "x:N ; axis:i64 exclusive:bool=false reverse:bool=false -> y"},
    {"layer_norm", "x:F gamma:F [beta:F] ; eps:f64=0.001 axes:list center:bool=true -> y mean var"},
    {"layer_norm_grad", "dy:F x:F gamma:F mean:F var:F ; eps:f64=0.001 axes:list center:bool=true beta:bool=false -> dx dgamma [dbeta]"},
    {"attention", "q:F k:F v:F [bias:F] [seed:I] [step:I] ; scale:f64=1 causal:bool=false rate:f64=0 stream:i64=0 -> y lse"},
    {"attention_grad", "dy:F q:F k:F v:F y:F lse:F [bias:F] [seed:I] [step:I] ; scale:f64=1 causal:bool=false rate:f64=0 stream:i64=0 dbias:bool=false -> dq dk dv [dbias]"},
    {"lstm", "x:F h:F c:F w:F r:F b:F -> y c gates"},
    {"lstm_grad", "dy:F dc:F x:F h:F c:F w:F r:F b:F y:F gates:F -> dx dh dc0 dw dr db"},
    {"gru", "x:F h:F w:F r:F b:F rb:F -> y gates"},
    {"gru_grad", "dy:F x:F h:F w:F r:F b:F rb:F y:F gates:F -> dx dh dw dr db drb"},
    {"global_norm", "x:F.. -> y"},
    {"all_reduce", "x:N.. ; kind:enum=0 group:i64=0 replicas:i64=1 -> y"},
    {"reduce_scatter", "x:N ; axis:i64 group:i64=0 replicas:i64=1 -> y"},
    {"resize", "x:F ; h:i64 w:i64 method:enum=1 coords:enum=1 -> y"},
    {"affine_image", "x:A theta:F ; h:i64 w:i64 method:enum=1 fill:enum=0 -> y"},
    {"crop_flip", "x:A top:I left:I flip:B ; h:i64 w:i64 -> y"},
    {"sgd_update", "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] ; l2:f64=0 -> p"},
    {"momentum_update", "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] m:F ; l2:f64=0 mu:f64 nesterov:bool=false -> p m"},
    {"adam_update", "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] m:F v:F [vmax:F] ; l2:f64=0 b1:f64 b2:f64 eps:f64 amsgrad:bool=false -> p m v [vmax]"},
    {"adamw_update", "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] m:F v:F [vmax:F] ; l2:f64=0 b1:f64 b2:f64 eps:f64 amsgrad:bool=false wd:f64=0 -> p m v [vmax]"},
    {"adamax_update", "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] m:F u:F ; l2:f64=0 b1:f64 b2:f64 eps:f64 -> p m u"},
    {"nadam_update", "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] m:F v:F q:F ; l2:f64=0 b1:f64 b2:f64 eps:f64 -> p m v q"},
    {"adagrad_update", "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] s:F ; l2:f64=0 eps:f64 -> p s"},
    {"rmsprop_update", "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] v:F [u:F] [a:F] ; l2:f64=0 rho:f64 mu:f64=0 eps:f64 centered:bool=false -> p v [u] [a]"},
    {"adadelta_update", "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] s:F e:F ; l2:f64=0 rho:f64 eps:f64 -> p s e"},
    {"ftrl_update", "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] n:F z:F ; l2:f64=0 lr_power:f64=-0.5 l1:f64=0 l2_reg:f64=0 shrink:f64=0 beta:f64=0 -> p n z"},
    {"lamb_update", "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] m:F v:F ; l2:f64=0 b1:f64 b2:f64 eps:f64 wd:f64=0 -> p m v"},
    {"lion_update", "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] m:F ; l2:f64=0 b1:f64 b2:f64 wd:f64=0 -> p m"},
    {"adafactor_update", "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] r:F [c:F] ; l2:f64=0 eps1:f64=1e-30 eps2:f64=0.001 -> p r [c]"},
};

}  // namespace

std::string_view signature_of(std::string_view op) {
  for (const Published& p : kPublished)
    if (p.op == op) return p.signature;
  return {};
}

bool is_published(std::string_view op) { return !signature_of(op).empty(); }

}  // namespace tenon::plugin
