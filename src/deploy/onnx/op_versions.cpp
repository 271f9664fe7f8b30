// Made by tools/make-op-versions from onnx 1.23.2; do not edit. op_versions.h describes the format.
#include "deploy/onnx/op_versions.h"

namespace quench {

const std::int64_t kNewestOpset = 28;

const char* const kOpVersionsTable = R"(
Abs 6 1-1 1-1 - 3cfe 3cfe | 13 1-1 1-1 - 13cfe 13cfe
Acos 7 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
Acosh 9 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
Add 7 2-2 1-1 - 3cc2,3cc2 3cc2 | 13 2-2 1-1 - 13cc2,13cc2 13cc2 | 14 2-2 1-1 - 13cfe,13cfe 13cfe
AffineGrid 20 2-2 1-1 align_corners=0 10c02,80 10c02
And 7 2-2 1-1 - 200,200 200
ArgMax 1 1-1 1-1 axis=0,keepdims=1 3cfe 80 | 11 1-1 1-1 axis=0,keepdims=1 3cfe 80 | 12 1-1 1-1 axis=0,keepdims=1,select_last_index=0 3cfe 80 | 13 1-1 1-1 axis=0,keepdims=1,select_last_index=0 13cfe 80
ArgMin 1 1-1 1-1 axis=0,keepdims=1 3cfe 80 | 11 1-1 1-1 axis=0,keepdims=1 3cfe 80 | 12 1-1 1-1 axis=0,keepdims=1,select_last_index=0 3cfe 80 | 13 1-1 1-1 axis=0,keepdims=1,select_last_index=0 13cfe 80
Asin 7 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
Asinh 9 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
Atan 7 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
Atanh 9 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
Attention 23 3-6 1-4 is_causal=0,kv_num_heads,q_num_heads,qk_matmul_output_mode=0,scale,softcap=0,softmax_precision 10c02,10c02,10c02,13efe,10c02,10c02 10c02,10c02,10c02,10c02 | 24 3-7 1-4 is_causal=0,kv_num_heads,q_num_heads,qk_matmul_output_mode=0,scale,softcap=0,softmax_precision 10c02,10c02,10c02,13efe,10c02,10c02,80 10c02,10c02,10c02,10c02 | 25 3-7 1-4 is_causal=0,kv_num_heads,left_window_size=-1,q_num_heads,qk_matmul_output_mode=0,right_window_size=-1,scale,softcap=0,softmax_precision 10c02,10c02,10c02,13efe,10c02,10c02,80 10c02,10c02,10c02,10c02
AveragePool 7 1-1 1-1 auto_pad=NOTSET,count_include_pad=0,kernel_shape,pads,strides c02 c02 | 10 1-1 1-1 auto_pad=NOTSET,ceil_mode=0,count_include_pad=0,kernel_shape,pads,strides c02 c02 | 11 1-1 1-1 auto_pad=NOTSET,ceil_mode=0,count_include_pad=0,kernel_shape,pads,strides c02 c02 | 19 1-1 1-1 auto_pad=NOTSET,ceil_mode=0,count_include_pad=0,dilations,kernel_shape,pads,strides c02 c02 | 22 1-1 1-1 auto_pad=NOTSET,ceil_mode=0,count_include_pad=0,dilations,kernel_shape,pads,strides 10c02 10c02
BatchNormalization 7 5-5 1-5 epsilon=9.99999975e-06,momentum=0.899999976,spatial=1 c02,c02,c02,c02,c02 c02,c02,c02,c02,c02 | 9 5-5 1-5 epsilon=9.99999975e-06,momentum=0.899999976 c02,c02,c02,c02,c02 c02,c02,c02,c02,c02 | 14 5-5 1-3 epsilon=9.99999975e-06,momentum=0.899999976,training_mode=0 10c02,10c02,10c02,10c02,10c02 10c02,10c02,10c02 | 15 5-5 1-3 epsilon=9.99999975e-06,momentum=0.899999976,training_mode=0 10c02,10c02,10c02,10c02,10c02 10c02,10c02,10c02
Bernoulli 15 1-1 1-1 dtype,seed c02 13efe | 22 1-1 1-1 dtype,seed 10c02 13efe
BitCast 26 1-1 1-1 to 7fffefe 7fffefe
BitShift 11 2-2 1-1 direction 3014,3014 3014 | 28 2-2 1-1 direction 30fc,30fc 30fc
BitwiseAnd 18 2-2 1-1 - 30fc,30fc 30fc
BitwiseNot 18 1-1 1-1 - 30fc 30fc
BitwiseOr 18 2-2 1-1 - 30fc,30fc 30fc
BitwiseXor 18 2-2 1-1 - 30fc,30fc 30fc
BlackmanWindow 17 1-1 1-1 output_datatype=1,periodic=1 c0 13cfe
Cast 6 1-1 1-1 to 3efe 3efe | 9 1-1 1-1 to 3ffe 3ffe | 13 1-1 1-1 to 13ffe 13ffe | 19 1-1 1-1 saturate=1,to 1f3ffe 1f3ffe | 21 1-1 1-1 saturate=1,to 7f3ffe 7f3ffe | 23 1-1 1-1 saturate=1,to ff3ffe ff3ffe | 24 1-1 1-1 round_mode=up,saturate=1,to 1ff3ffe 1ff3ffe | 25 1-1 1-1 round_mode=up,saturate=1,to 7ff3ffe 7ff3ffe | 28 1-1 1-1 round_mode=up,saturate=1,to 7ff3ffe 7ff3ffe
CastLike 15 2-2 1-1 - 13ffe,13ffe 13ffe | 19 2-2 1-1 saturate=1 1f3ffe,1f3ffe 1f3ffe | 21 2-2 1-1 saturate=1 7f3ffe,7f3ffe 7f3ffe | 23 2-2 1-1 saturate=1 ff3ffe,ff3ffe ff3ffe | 24 2-2 1-1 round_mode=up,saturate=1 1ff3ffe,1ff3ffe 1ff3ffe | 25 2-2 1-1 round_mode=up,saturate=1 7ff3ffe,7ff3ffe 7ff3ffe
CausalConvWithState 27 2-4 2-2 activation=none 10402,10402,10402,10402 10402,10402
Ceil 6 1-1 1-1 - c02 c02 | 13 1-1 1-1 - 10c02 10c02
Celu 12 1-1 1-1 alpha=1 2 2 | 28 1-1 1-1 alpha=1 10c02 10c02
CenterCropPad 18 2-2 1-1 axes 1fffe,c0 1fffe
Clip 6 1-1 1-1 max=3.40282347e+38,min=-3.40282347e+38 c02 c02 | 11 1-3 1-1 - c02,c02,c02 c02 | 12 1-3 1-1 - 3cfe,3cfe,3cfe 3cfe | 13 1-3 1-1 - 13cfe,13cfe,13cfe 13cfe
Col2Im 18 3-3 1-1 dilations,pads,strides 1fffe,80,80 1fffe
Compress 9 2-2 1-1 axis fffe,200 fffe | 11 2-2 1-1 axis fffe,200 fffe | 28 2-2 1-1 axis 1fffe,200 1fffe
Concat 4 1- 1-1 axis fffe fffe | 11 1- 1-1 axis fffe fffe | 13 1- 1-1 axis 1fffe 1fffe
ConcatFromSequence 11 1-1 1-1 axis,new_axis=0 80000000 fffe
Constant 1 0-0 1-1 value - c02 | 9 0-0 1-1 value - fffe | 11 0-0 1-1 sparse_value,value - fffe | 12 0-0 1-1 sparse_value,value,value_float,value_floats,value_int,value_ints,value_string,value_strings - fffe | 13 0-0 1-1 sparse_value,value,value_float,value_floats,value_int,value_ints,value_string,value_strings - 1fffe | 19 0-0 1-1 sparse_value,value,value_float,value_floats,value_int,value_ints,value_string,value_strings - 1ffffe | 21 0-0 1-1 sparse_value,value,value_float,value_floats,value_int,value_ints,value_string,value_strings - 7ffffe | 23 0-0 1-1 sparse_value,value,value_float,value_floats,value_int,value_ints,value_string,value_strings - fffffe | 24 0-0 1-1 sparse_value,value,value_float,value_floats,value_int,value_ints,value_string,value_strings - 1fffffe | 25 0-0 1-1 sparse_value,value,value_float,value_floats,value_int,value_ints,value_string,value_strings - 7fffffe
ConstantOfShape 9 1-1 1-1 value 80 3efe | 20 1-1 1-1 value 80 1f3efe | 21 1-1 1-1 value 80 7f3efe | 23 1-1 1-1 value 80 ff3efe | 24 1-1 1-1 value 80 1ff3efe | 25 1-1 1-1 value 80 7ff3efe
Conv 1 2-3 1-1 auto_pad=NOTSET,dilations,group=1,kernel_shape,pads,strides c02,c02,c02 c02 | 11 2-3 1-1 auto_pad=NOTSET,dilations,group=1,kernel_shape,pads,strides c02,c02,c02 c02 | 22 2-3 1-1 auto_pad=NOTSET,dilations,group=1,kernel_shape,pads,strides 10c02,10c02,10c02 10c02
ConvInteger 10 2-4 1-1 auto_pad=NOTSET,dilations,group=1,kernel_shape,pads,strides c,c,c,c 40
ConvTranspose 1 2-3 1-1 auto_pad=NOTSET,dilations,group=1,kernel_shape,output_padding,output_shape,pads,strides c02,c02,c02 c02 | 11 2-3 1-1 auto_pad=NOTSET,dilations,group=1,kernel_shape,output_padding,output_shape,pads,strides c02,c02,c02 c02 | 22 2-3 1-1 auto_pad=NOTSET,dilations,group=1,kernel_shape,output_padding,output_shape,pads,strides 10c02,10c02,10c02 10c02
Cos 7 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
Cosh 9 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
CumProd 26 2-2 1-1 exclusive=0,reverse=0 13cc2,c0 13cc2
CumSum 11 2-2 1-1 exclusive=0,reverse=0 38c2,c0 38c2 | 14 2-2 1-1 exclusive=0,reverse=0 13cc2,c0 13cc2
DFT 17 1-2 1-1 axis=1,inverse=0,onesided=0 10c02,c0 10c02 | 20 1-3 1-1 inverse=0,onesided=0 10c02,c0,80 10c02
DeformConv 19 3-5 1-1 dilations,group=1,kernel_shape,offset_group=1,pads,strides c02,c02,c02,c02,c02 c02 | 22 3-5 1-1 dilations,group=1,kernel_shape,offset_group=1,pads,strides 10c02,10c02,10c02,10c02,10c02 10c02
DepthToSpace 1 1-1 1-1 blocksize fffe fffe | 11 1-1 1-1 blocksize,mode=DCR fffe fffe | 13 1-1 1-1 blocksize,mode=DCR 1fffe 1fffe | 28 1-1 1-1 blocksize,mode=DCR 1fffe 1fffe
DequantizeLinear 10 2-3 1-1 - 4c,2,4c 2 | 13 2-3 1-1 axis=1 4c,2,4c 2 | 19 2-3 1-1 axis=1 1e004c,10402,1e004c 10402 | 21 2-3 1-1 axis=1,block_size=0 7e007c,10402,7e007c 10402 | 23 2-3 1-1 axis=1,block_size=0,output_dtype=0 fe007c,10402,fe007c 10402 | 24 2-3 1-1 axis=1,block_size=0,output_dtype=0 fe007c,1010402,fe007c 10402 | 25 2-3 1-1 axis=1,block_size=0,output_dtype=0 6fe007c,1010402,6fe007c 10402 | 28 2-3 1-1 axis=1,block_size=0,output_dtype=0 6fe007c,1010402,6fe007c 10402
Det 11 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
Div 7 2-2 1-1 - 3cc2,3cc2 3cc2 | 13 2-2 1-1 - 13cc2,13cc2 13cc2 | 14 2-2 1-1 - 13cfe,13cfe 13cfe
Dropout 7 1-1 1-2 ratio=0.5 c02 c02,c02 | 10 1-1 1-2 ratio=0.5 c02 c02,200 | 12 1-3 1-2 seed c02,c02,200 c02,200 | 13 1-3 1-2 seed 10c02,c02,200 10c02,200 | 22 1-3 1-2 seed 1f0c02,1f0c02,200 1f0c02,200
DynamicQuantizeLinear 11 1-1 3-3 - 2 4,2,4
Einsum 12 1- 1-1 equation 3cfe 3cfe | 28 1- 1-1 equation 13cfe 13cfe
Elu 6 1-1 1-1 alpha=1 c02 c02 | 22 1-1 1-1 alpha=1 10c02 10c02
Equal 7 2-2 1-1 - 2c0,2c0 200 | 11 2-2 1-1 - 3efe,3efe 200 | 13 2-2 1-1 - 13efe,13efe 200 | 19 2-2 1-1 - 13ffe,13ffe 200
Erf 9 1-1 1-1 - 3cfe 3cfe | 13 1-1 1-1 - 10c02 10c02
Exp 6 1-1 1-1 - c02 c02 | 13 1-1 1-1 - 10c02 10c02
Expand 8 2-2 1-1 - fffe,80 fffe | 13 2-2 1-1 - 1fffe,80 1fffe
EyeLike 9 1-1 1-1 dtype,k=0 3efe 3efe | 22 1-1 1-1 dtype,k=0 13efe 13efe
Flatten 1 1-1 1-1 axis=1 c02 c02 | 9 1-1 1-1 axis=1 fffe fffe | 11 1-1 1-1 axis=1 fffe fffe | 13 1-1 1-1 axis=1 1fffe 1fffe | 21 1-1 1-1 axis=1 7ffffe 7ffffe | 23 1-1 1-1 axis=1 fffffe fffffe | 24 1-1 1-1 axis=1 1fffffe 1fffffe | 25 1-1 1-1 axis=1 7fffffe 7fffffe
Floor 6 1-1 1-1 - c02 c02 | 13 1-1 1-1 - 10c02 10c02
GRU 7 3-6 0-2 activation_alpha,activation_beta,activations,clip,direction=forward,hidden_size,linear_before_reset=0 c02,c02,c02,c02,40,c02 c02,c02 | 14 3-6 0-2 activation_alpha,activation_beta,activations,clip,direction=forward,hidden_size,layout=0,linear_before_reset=0 c02,c02,c02,c02,40,c02 c02,c02 | 22 3-6 0-2 activation_alpha,activation_beta,activations,clip,direction=forward,hidden_size,layout=0,linear_before_reset=0 10c02,10c02,10c02,10c02,40,10c02 10c02,10c02
Gather 1 2-2 1-1 axis=0 fffe,c0 fffe | 11 2-2 1-1 axis=0 fffe,c0 fffe | 13 2-2 1-1 axis=0 1fffe,c0 1fffe
GatherElements 11 2-2 1-1 axis=0 fffe,c0 fffe | 13 2-2 1-1 axis=0 1fffe,c0 1fffe
GatherND 11 2-2 1-1 - fffe,80 fffe | 12 2-2 1-1 batch_dims=0 fffe,80 fffe | 13 2-2 1-1 batch_dims=0 1fffe,80 1fffe
Gelu 20 1-1 1-1 approximate=none 10c02 10c02
Gemm 7 3-3 1-1 alpha=1,beta=1,transA=0,transB=0 c02,c02,c02 c02 | 9 3-3 1-1 alpha=1,beta=1,transA=0,transB=0 3cc2,3cc2,3cc2 3cc2 | 11 2-3 1-1 alpha=1,beta=1,transA=0,transB=0 3cc2,3cc2,3cc2 3cc2 | 13 2-3 1-1 alpha=1,beta=1,transA=0,transB=0 13cc2,13cc2,13cc2 13cc2
GlobalAveragePool 1 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
GlobalLpPool 2 1-1 1-1 p=2 c02 c02 | 22 1-1 1-1 p=2 10c02 10c02
GlobalMaxPool 1 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
Greater 7 2-2 1-1 - c02,c02 200 | 9 2-2 1-1 - 3cfe,3cfe 200 | 13 2-2 1-1 - 13cfe,13cfe 200
GreaterOrEqual 12 2-2 1-1 - 3cfe,3cfe 200 | 16 2-2 1-1 - 13cfe,13cfe 200
GridSample 16 2-2 1-1 align_corners=0,mode=bilinear,padding_mode=zeros fffe,c02 fffe | 20 2-2 1-1 align_corners=0,mode=linear,padding_mode=zeros fffe,c02 fffe | 22 2-2 1-1 align_corners=0,mode=linear,padding_mode=zeros 1fffe,10c02 1fffe
GroupNormalization 18 deprecated | 21 3-3 1-1 epsilon=9.99999975e-06,num_groups,stash_type=1 10c02,10c02,10c02 10c02
HammingWindow 17 1-1 1-1 output_datatype=1,periodic=1 c0 13cfe
HannWindow 17 1-1 1-1 output_datatype=1,periodic=1 c0 13cfe
HardSigmoid 6 1-1 1-1 alpha=0.200000003,beta=0.5 c02 c02 | 22 1-1 1-1 alpha=0.200000003,beta=0.5 10c02 10c02
HardSwish 14 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
Hardmax 1 1-1 1-1 axis=1 c02 c02 | 11 1-1 1-1 axis=1 c02 c02 | 13 1-1 1-1 axis=-1 10c02 10c02
Identity 1 1-1 1-1 - fffe fffe | 13 1-1 1-1 - 1fffe 1fffe | 14 1-1 1-1 - 8001fffe 8001fffe | 16 1-1 1-1 - 8001fffe 8001fffe | 19 1-1 1-1 - 801ffffe 801ffffe | 21 1-1 1-1 - 807ffffe 807ffffe | 23 1-1 1-1 - 80fffffe 80fffffe | 24 1-1 1-1 - 81fffffe 81fffffe | 25 1-1 1-1 - 87fffffe 87fffffe
If 1 1-1 1- else_branch,then_branch 200 fffe | 11 1-1 1- else_branch,then_branch 200 fffe | 13 1-1 1- else_branch,then_branch 200 8000fffe | 16 1-1 1- else_branch,then_branch 200 8001fffe | 19 1-1 1- else_branch,then_branch 200 801ffffe | 21 1-1 1- else_branch,then_branch 200 807ffffe | 23 1-1 1- else_branch,then_branch 200 80fffffe | 24 1-1 1- else_branch,then_branch 200 81fffffe | 25 1-1 1- else_branch,then_branch 200 87fffffe
ImageDecoder 20 1-1 1-1 pixel_format=RGB 4 4
InstanceNormalization 6 3-3 1-1 epsilon=9.99999975e-06 c02,c02,c02 c02 | 22 3-3 1-1 epsilon=9.99999975e-06 10c02,10c02,10c02 10c02
IsInf 10 1-1 1-1 detect_negative=1,detect_positive=1 802 200 | 20 1-1 1-1 detect_negative=1,detect_positive=1 1f0c02 200
IsNaN 9 1-1 1-1 - c02 200 | 13 1-1 1-1 - 10c02 200 | 20 1-1 1-1 - 1f0c02 200
LRN 1 1-1 1-1 alpha=9.99999975e-05,beta=0.75,bias=1,size c02 c02 | 13 1-1 1-1 alpha=9.99999975e-05,beta=0.75,bias=1,size 10c02 10c02
LSTM 7 3-8 0-3 activation_alpha,activation_beta,activations,clip,direction=forward,hidden_size,input_forget=0 c02,c02,c02,c02,40,c02,c02,c02 c02,c02,c02 | 14 3-8 0-3 activation_alpha,activation_beta,activations,clip,direction=forward,hidden_size,input_forget=0,layout=0 c02,c02,c02,c02,40,c02,c02,c02 c02,c02,c02 | 22 3-8 0-3 activation_alpha,activation_beta,activations,clip,direction=forward,hidden_size,input_forget=0,layout=0 10c02,10c02,10c02,10c02,40,10c02,10c02,10c02 10c02,10c02,10c02
LayerNormalization 17 2-3 1-3 axis=-1,epsilon=9.99999975e-06,stash_type=1 10c02,10c02,10c02 10c02,10002,10002
LeakyRelu 6 1-1 1-1 alpha=0.00999999978 c02 c02 | 16 1-1 1-1 alpha=0.00999999978 10c02 10c02
Less 7 2-2 1-1 - c02,c02 200 | 9 2-2 1-1 - 3cfe,3cfe 200 | 13 2-2 1-1 - 13cfe,13cfe 200
LessOrEqual 12 2-2 1-1 - 3cfe,3cfe 200 | 16 2-2 1-1 - 13cfe,13cfe 200
LinearAttention 27 3-6 2-2 chunk_size=64,kv_num_heads,q_num_heads,scale=0,update_rule=gated_delta 10402,10402,10402,10402,10402,10402 10402,10402
Log 6 1-1 1-1 - c02 c02 | 13 1-1 1-1 - 10c02 10c02
LogSoftmax 1 1-1 1-1 axis=1 c02 c02 | 11 1-1 1-1 axis=1 c02 c02 | 13 1-1 1-1 axis=-1 10c02 10c02
Loop 1 3- 1- body 80,200,fffe fffe | 11 2- 1- body 80,200,fffe fffe | 13 2- 1- body 80,200,8000fffe 8000fffe | 16 2- 1- body 80,200,8001fffe 8001fffe | 19 2- 1- body 80,200,801ffffe 801ffffe | 21 2- 1- body 80,200,807ffffe 807ffffe | 23 2- 1- body 80,200,80fffffe 80fffffe | 24 2- 1- body 80,200,81fffffe 81fffffe | 25 2- 1- body 80,200,87fffffe 87fffffe
LpNormalization 1 1-1 1-1 axis=-1,p=2 c02 c02 | 22 1-1 1-1 axis=-1,p=2 10c02 10c02
LpPool 2 1-1 1-1 auto_pad=NOTSET,kernel_shape,p=2,pads,strides c02 c02 | 11 1-1 1-1 auto_pad=NOTSET,kernel_shape,p=2,pads,strides c02 c02 | 18 1-1 1-1 auto_pad=NOTSET,ceil_mode=0,dilations,kernel_shape,p=2,pads,strides c02 c02 | 22 1-1 1-1 auto_pad=NOTSET,ceil_mode=0,dilations,kernel_shape,p=2,pads,strides 10c02 10c02
MatMul 1 2-2 1-1 - c02,c02 c02 | 9 2-2 1-1 - 3cc2,3cc2 3cc2 | 13 2-2 1-1 - 13cc2,13cc2 13cc2
MatMulInteger 10 2-4 1-1 - c,c,c,c 40
Max 6 1- 1-1 - c02 c02 | 8 1- 1-1 - c02 c02 | 12 1- 1-1 - 3cfe 3cfe | 13 1- 1-1 - 13cfe 13cfe
MaxPool 1 1-1 1-1 auto_pad=NOTSET,kernel_shape,pads,strides c02 c02 | 8 1-1 1-2 auto_pad=NOTSET,kernel_shape,pads,storage_order=0,strides c02 c02,80 | 10 1-1 1-2 auto_pad=NOTSET,ceil_mode=0,dilations,kernel_shape,pads,storage_order=0,strides c02 c02,80 | 11 1-1 1-2 auto_pad=NOTSET,ceil_mode=0,dilations,kernel_shape,pads,storage_order=0,strides c02 c02,80 | 12 1-1 1-2 auto_pad=NOTSET,ceil_mode=0,dilations,kernel_shape,pads,storage_order=0,strides c0e c0e,80 | 22 1-1 1-2 auto_pad=NOTSET,ceil_mode=0,dilations,kernel_shape,pads,storage_order=0,strides 10c0e 10c0e,80
MaxRoiPool 1 2-2 1-1 pooled_shape,spatial_scale=1 c02,c02 c02 | 22 2-2 1-1 pooled_shape,spatial_scale=1 10c02,10c02 10c02
MaxUnpool 9 2-3 1-1 kernel_shape,pads,strides c02,80,80 c02 | 11 2-3 1-1 kernel_shape,pads,strides c02,80,80 c02 | 22 2-3 1-1 kernel_shape,pads,strides 10c02,80,80 10c02
Mean 6 1- 1-1 - c02 c02 | 8 1- 1-1 - c02 c02 | 13 1- 1-1 - 10c02 10c02
MeanVarianceNormalization 9 1-1 1-1 axes c02 c02 | 13 1-1 1-1 axes 10c02 10c02
MelWeightMatrix 17 5-5 1-1 output_datatype=1 c0,c0,c0,10c02,10c02 13cfe
Min 6 1- 1-1 - c02 c02 | 8 1- 1-1 - c02 c02 | 12 1- 1-1 - 3cfe 3cfe | 13 1- 1-1 - 13cfe 13cfe
Mish 18 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
Mod 10 2-2 1-1 fmod=0 3cfe,3cfe 3cfe | 13 2-2 1-1 fmod=0 13cfe,13cfe 13cfe | 28 2-2 1-1 fmod=0 13cfe,13cfe 13cfe
Mul 7 2-2 1-1 - 3cc2,3cc2 3cc2 | 13 2-2 1-1 - 13cc2,13cc2 13cc2 | 14 2-2 1-1 - 13cfe,13cfe 13cfe
Multinomial 7 1-1 1-1 dtype=6,sample_size=1,seed c02 c0 | 22 1-1 1-1 dtype=6,sample_size=1,seed 10c02 c0
Neg 6 1-1 1-1 - cea cea | 13 1-1 1-1 - 10cea 10cea
NegativeLogLikelihoodLoss 12 2-3 1-1 ignore_index,reduction=mean c02,c0,c02 c02 | 13 2-3 1-1 ignore_index,reduction=mean c02,c0,c02 c02 | 22 2-3 1-1 ignore_index,reduction=mean 10c02,c0,10c02 10c02
NonMaxSuppression 10 2-5 1-1 center_point_box=0 2,2,80,2,2 80 | 11 2-5 1-1 center_point_box=0 2,2,80,2,2 80
NonZero 9 1-1 1-1 - fffe 80 | 13 1-1 1-1 - 1fffe 80
Not 1 1-1 1-1 - 200 200
OneHot 9 3-3 1-1 axis=-1 3cfe,3cfe,fffe fffe | 11 3-3 1-1 axis=-1 3cfe,3cfe,fffe fffe | 28 3-3 1-1 axis=-1 3cfe,3cfe,1fffe 1fffe
Optional 15 0-1 1-1 type 8000fffe 80000000 | 28 0-1 1-1 type 87fffffe 80000000
OptionalGetElement 15 1-1 1-1 - 80000000 8000fffe | 18 1-1 1-1 - 8000fffe 8000fffe | 28 1-1 1-1 - 87fffffe 87fffffe
OptionalHasElement 15 1-1 1-1 - 80000000 200 | 18 0-1 1-1 - 8000fffe 200 | 28 0-1 1-1 - 87fffffe 200
Or 7 2-2 1-1 - 200,200 200
PRelu 7 2-2 1-1 - c02,c02 c02 | 9 2-2 1-1 - 3cc2,3cc2 3cc2 | 16 2-2 1-1 - 13cc2,13cc2 13cc2
Pad 2 1-1 1-1 mode=constant,pads,value=0 c02 c02 | 11 2-3 1-1 mode=constant 3cfe,80,3cfe 3cfe | 13 2-3 1-1 mode=constant 1fffe,80,1fffe 1fffe | 18 2-4 1-1 mode=constant 1fffe,80,1fffe,c0 1fffe | 19 2-4 1-1 mode=constant 1fffe,80,1fffe,c0 1fffe | 21 2-4 1-1 mode=constant 7ffffe,80,7ffffe,c0 7ffffe | 23 2-4 1-1 mode=constant fffffe,80,fffffe,c0 fffffe | 24 2-4 1-1 mode=constant 1fffffe,80,1fffffe,c0 1fffffe | 25 2-4 1-1 mode=constant 7fffffe,80,7fffffe,c0 7fffffe
Pow 7 2-2 1-1 - c02,c02 c02 | 12 2-2 1-1 - cc2,3cfe cc2 | 13 2-2 1-1 - 10cc2,3cfe 10cc2 | 15 2-2 1-1 - 10cc2,13cfe 10cc2
QLinearConv 10 8-9 1-1 auto_pad=NOTSET,dilations,group=1,kernel_shape,pads,strides c,2,c,c,2,c,2,c,40 c
QLinearMatMul 10 8-8 1-1 - c,2,c,c,2,c,2,c c | 21 8-8 1-1 - 1e000c,10402,1e000c,1e000c,10402,1e000c,10402,1e000c 1e000c
QuantizeLinear 10 2-3 1-1 - 42,2,c c | 13 2-3 1-1 axis=1 42,2,c c | 19 2-3 1-1 axis=1,saturate=1 10442,10442,1e000c 1e000c | 21 2-3 1-1 axis=1,block_size=0,output_dtype=0,saturate=1 10442,10442,7e003c 7e003c | 23 2-3 1-1 axis=1,block_size=0,output_dtype=0,precision=0,saturate=1 10442,10442,fe003c fe003c | 24 2-3 1-1 axis=1,block_size=0,output_dtype=0,precision=0,saturate=1 10442,1010442,fe003c fe003c | 25 2-3 1-1 axis=1,block_size=0,output_dtype=0,precision=0,saturate=1 10442,1010442,6fe003c 6fe003c | 28 2-3 1-1 axis=1,block_size=0,output_dtype=0,precision=0,saturate=1 10442,1010442,6fe003c 6fe003c
RMSNormalization 23 2-2 1-1 axis=-1,epsilon=9.99999975e-06,stash_type=1 10c02,10c02 10c02
RNN 7 3-6 0-2 activation_alpha,activation_beta,activations,clip,direction=forward,hidden_size c02,c02,c02,c02,40,c02 c02,c02 | 14 3-6 0-2 activation_alpha,activation_beta,activations,clip,direction=forward,hidden_size,layout=0 c02,c02,c02,c02,40,c02 c02,c02 | 22 3-6 0-2 activation_alpha,activation_beta,activations,clip,direction=forward,hidden_size,layout=0 10c02,10c02,10c02,10c02,40,10c02 10c02,10c02
RandomNormal 1 0-0 1-1 dtype=1,mean=0,scale=1,seed,shape - c02 | 22 0-0 1-1 dtype=1,mean=0,scale=1,seed,shape - 10c02
RandomNormalLike 1 1-1 1-1 dtype,mean=0,scale=1,seed fffe c02 | 22 1-1 1-1 dtype,mean=0,scale=1,seed 1fffe 10c02
RandomUniform 1 0-0 1-1 dtype=1,high=1,low=0,seed,shape - c02 | 22 0-0 1-1 dtype=1,high=1,low=0,seed,shape - 10c02
RandomUniformLike 1 1-1 1-1 dtype,high=1,low=0,seed fffe c02 | 22 1-1 1-1 dtype,high=1,low=0,seed 1fffe 10c02
Range 11 3-3 1-1 - 8e2,8e2,8e2 8e2 | 27 3-3 1-1 stash_type=1 10ce2,10ce2,10ce2 10ce2
Reciprocal 6 1-1 1-1 - c02 c02 | 13 1-1 1-1 - 10c02 10c02
ReduceL1 1 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 11 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 13 1-1 1-1 axes,keepdims=1 13cc2 13cc2 | 18 1-2 1-1 keepdims=1,noop_with_empty_axes=0 13cc2,80 13cc2
ReduceL2 1 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 11 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 13 1-1 1-1 axes,keepdims=1 13cc2 13cc2 | 18 1-2 1-1 keepdims=1,noop_with_empty_axes=0 13cc2,80 13cc2
ReduceLogSum 1 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 11 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 13 1-1 1-1 axes,keepdims=1 13cc2 13cc2 | 18 1-2 1-1 keepdims=1,noop_with_empty_axes=0 13cc2,80 13cc2 | 28 1-2 1-1 keepdims=1,noop_with_empty_axes=0 10c02,80 10c02
ReduceLogSumExp 1 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 11 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 13 1-1 1-1 axes,keepdims=1 13cc2 13cc2 | 18 1-2 1-1 keepdims=1,noop_with_empty_axes=0 13cc2,80 13cc2 | 28 1-2 1-1 keepdims=1,noop_with_empty_axes=0 10c02,80 10c02
ReduceMax 1 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 11 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 12 1-1 1-1 axes,keepdims=1 3cce 3cce | 13 1-1 1-1 axes,keepdims=1 13cce 13cce | 18 1-2 1-1 keepdims=1,noop_with_empty_axes=0 13cce,80 13cce | 20 1-2 1-1 keepdims=1,noop_with_empty_axes=0 13ece,80 13ece
ReduceMean 1 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 11 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 13 1-1 1-1 axes,keepdims=1 13cc2 13cc2 | 18 1-2 1-1 keepdims=1,noop_with_empty_axes=0 13cc2,80 13cc2
ReduceMin 1 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 11 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 12 1-1 1-1 axes,keepdims=1 3cce 3cce | 13 1-1 1-1 axes,keepdims=1 13cce 13cce | 18 1-2 1-1 keepdims=1,noop_with_empty_axes=0 13cce,80 13cce | 20 1-2 1-1 keepdims=1,noop_with_empty_axes=0 13ece,80 13ece
ReduceProd 1 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 11 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 13 1-1 1-1 axes,keepdims=1 13cc2 13cc2 | 18 1-2 1-1 keepdims=1,noop_with_empty_axes=0 13cc2,80 13cc2
ReduceSum 1 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 11 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 13 1-2 1-1 keepdims=1,noop_with_empty_axes=0 13cc2,80 13cc2
ReduceSumSquare 1 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 11 1-1 1-1 axes,keepdims=1 3cc2 3cc2 | 13 1-1 1-1 axes,keepdims=1 13cc2 13cc2 | 18 1-2 1-1 keepdims=1,noop_with_empty_axes=0 13cc2,80 13cc2
RegexFullMatch 20 1-1 1-1 pattern 100 200
Relu 6 1-1 1-1 - c02 c02 | 13 1-1 1-1 - 10c02 10c02 | 14 1-1 1-1 - 10cea 10cea
Reshape 5 2-2 1-1 - fffe,80 fffe | 13 2-2 1-1 - 1fffe,80 1fffe | 14 2-2 1-1 allowzero=0 1fffe,80 1fffe | 19 2-2 1-1 allowzero=0 1ffffe,80 1ffffe | 21 2-2 1-1 allowzero=0 7ffffe,80 7ffffe | 23 2-2 1-1 allowzero=0 fffffe,80 fffffe | 24 2-2 1-1 allowzero=0 1fffffe,80 1fffffe | 25 2-2 1-1 allowzero=0 7fffffe,80 7fffffe
Resize 10 2-2 1-1 mode=nearest fffe,2 fffe | 11 3-4 1-1 coordinate_transformation_mode=half_pixel,cubic_coeff_a=-0.75,exclude_outside=0,extrapolation_value=0,mode=nearest,nearest_mode=round_prefer_floor fffe,c02,2,80 fffe | 13 1-4 1-1 coordinate_transformation_mode=half_pixel,cubic_coeff_a=-0.75,exclude_outside=0,extrapolation_value=0,mode=nearest,nearest_mode=round_prefer_floor 1fffe,c02,2,80 1fffe | 18 1-4 1-1 antialias=0,axes,coordinate_transformation_mode=half_pixel,cubic_coeff_a=-0.75,exclude_outside=0,extrapolation_value=0,keep_aspect_ratio_policy=stretch,mode=nearest,nearest_mode=round_prefer_floor 1fffe,c02,2,80 1fffe | 19 1-4 1-1 antialias=0,axes,coordinate_transformation_mode=half_pixel,cubic_coeff_a=-0.75,exclude_outside=0,extrapolation_value=0,keep_aspect_ratio_policy=stretch,mode=nearest,nearest_mode=round_prefer_floor 1fffe,c02,2,80 1fffe
ReverseSequence 10 2-2 1-1 batch_axis=1,time_axis=0 fffe,80 fffe | 28 2-2 1-1 batch_axis=1,time_axis=0 1fffe,80 1fffe
RoiAlign 10 3-3 1-1 mode=avg,output_height=1,output_width=1,sampling_ratio=0,spatial_scale=1 c02,c02,80 c02 | 16 3-3 1-1 coordinate_transformation_mode=half_pixel,mode=avg,output_height=1,output_width=1,sampling_ratio=0,spatial_scale=1 c02,c02,80 c02 | 22 3-3 1-1 coordinate_transformation_mode=half_pixel,mode=avg,output_height=1,output_width=1,sampling_ratio=0,spatial_scale=1 10c02,10c02,80 10c02
RotaryEmbedding 23 3-4 1-1 interleaved=0,num_heads,rotary_embedding_dim=0 10402,10402,10402,80 10402
Round 11 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
STFT 17 2-4 1-1 onesided=1 10c02,c0,10c02,c0 10c02
Scan 8 2- 1- body,directions,num_scan_inputs 80,fffe fffe | 9 1- 1- body,num_scan_inputs,scan_input_axes,scan_input_directions,scan_output_axes,scan_output_directions fffe fffe | 11 1- 1- body,num_scan_inputs,scan_input_axes,scan_input_directions,scan_output_axes,scan_output_directions fffe fffe | 16 1- 1- body,num_scan_inputs,scan_input_axes,scan_input_directions,scan_output_axes,scan_output_directions 1fffe 1fffe | 19 1- 1- body,num_scan_inputs,scan_input_axes,scan_input_directions,scan_output_axes,scan_output_directions 1ffffe 1ffffe | 21 1- 1- body,num_scan_inputs,scan_input_axes,scan_input_directions,scan_output_axes,scan_output_directions 7ffffe 7ffffe | 23 1- 1- body,num_scan_inputs,scan_input_axes,scan_input_directions,scan_output_axes,scan_output_directions fffffe fffffe | 24 1- 1- body,num_scan_inputs,scan_input_axes,scan_input_directions,scan_output_axes,scan_output_directions 1fffffe 1fffffe | 25 1- 1- body,num_scan_inputs,scan_input_axes,scan_input_directions,scan_output_axes,scan_output_directions 7fffffe 7fffffe
Scatter 9 3-3 1-1 axis=0 fffe,c0,fffe fffe | 11 deprecated
ScatterElements 11 3-3 1-1 axis=0 fffe,c0,fffe fffe | 13 3-3 1-1 axis=0 1fffe,c0,1fffe 1fffe | 16 3-3 1-1 axis=0,reduction=none 1fffe,c0,1fffe 1fffe | 18 3-3 1-1 axis=0,reduction=none 1fffe,c0,1fffe 1fffe
ScatterND 11 3-3 1-1 - fffe,80,fffe fffe | 13 3-3 1-1 - 1fffe,80,1fffe 1fffe | 16 3-3 1-1 reduction=none 1fffe,80,1fffe 1fffe | 18 3-3 1-1 reduction=none 1fffe,80,1fffe 1fffe
Selu 6 1-1 1-1 alpha=1.67326319,gamma=1.05070102 c02 c02 | 22 1-1 1-1 alpha=1.67326319,gamma=1.05070102 10c02 10c02
SequenceAt 11 2-2 1-1 - 80000000,c0 fffe
SequenceConstruct 11 1- 1-1 - fffe 80000000
SequenceEmpty 11 0-0 1-1 dtype - 80000000
SequenceErase 11 1-2 1-1 - 80000000,c0 80000000
SequenceInsert 11 2-3 1-1 - 80000000,fffe,c0 80000000
SequenceLength 11 1-1 1-1 - 80000000 80
SequenceMap 17 1- 1- body 80000000,8000fffe 80000000
Shape 1 1-1 1-1 - fffe 80 | 13 1-1 1-1 - 1fffe 80 | 15 1-1 1-1 end,start=0 1fffe 80 | 19 1-1 1-1 end,start=0 1ffffe 80 | 21 1-1 1-1 end,start=0 7ffffe 80 | 23 1-1 1-1 end,start=0 fffffe 80 | 24 1-1 1-1 end,start=0 1fffffe 80 | 25 1-1 1-1 end,start=0 7fffffe 80
Shrink 9 1-1 1-1 bias=0,lambd=0.5 3cfe 3cfe
Sigmoid 6 1-1 1-1 - c02 c02 | 13 1-1 1-1 - 10c02 10c02
Sign 9 1-1 1-1 - 3cfe 3cfe | 13 1-1 1-1 - 13cfe 13cfe
Sin 7 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
Sinh 9 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
Size 1 1-1 1-1 - fffe 80 | 13 1-1 1-1 - 1fffe 80 | 19 1-1 1-1 - 1ffffe 80 | 21 1-1 1-1 - 7ffffe 80 | 23 1-1 1-1 - fffffe 80 | 24 1-1 1-1 - 1fffffe 80 | 25 1-1 1-1 - 7fffffe 80
Slice 1 1-1 1-1 axes,ends,starts fffe fffe | 10 3-5 1-1 - fffe,c0,c0,c0,c0 fffe | 11 3-5 1-1 - fffe,c0,c0,c0,c0 fffe | 13 3-5 1-1 - 1fffe,c0,c0,c0,c0 1fffe
Softmax 1 1-1 1-1 axis=1 c02 c02 | 11 1-1 1-1 axis=1 c02 c02 | 13 1-1 1-1 axis=-1 10c02 10c02
SoftmaxCrossEntropyLoss 12 2-3 1-2 ignore_index,reduction=mean c02,c0,c02 c02,c02 | 13 2-3 1-2 ignore_index,reduction=mean 10c02,c0,10c02 10c02,10c02
Softplus 1 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
Softsign 1 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
SpaceToDepth 1 1-1 1-1 blocksize fffe fffe | 13 1-1 1-1 blocksize 1fffe 1fffe | 28 1-1 1-1 blocksize,mode=DCR 1fffe 1fffe
Split 2 1-1 1- axis=0,split fffe fffe | 11 1-1 1- axis=0,split fffe fffe | 13 1-2 1- axis=0 1fffe,80 1fffe | 18 1-2 1- axis=0,num_outputs 1fffe,80 1fffe
SplitToSequence 11 1-2 1-1 axis=0,keepdims=1 fffe,c0 80000000 | 24 1-2 1-1 axis=0,keepdims=1 1fffe,c0 80000000
Sqrt 6 1-1 1-1 - c02 c02 | 13 1-1 1-1 - 10c02 10c02
Squeeze 1 1-1 1-1 axes fffe fffe | 11 1-1 1-1 axes fffe fffe | 13 1-2 1-1 - 1fffe,80 1fffe | 21 1-2 1-1 - 7ffffe,80 7ffffe | 23 1-2 1-1 - fffffe,80 fffffe | 24 1-2 1-1 - 1fffffe,80 1fffffe | 25 1-2 1-1 - 7fffffe,80 7fffffe
StringConcat 20 2-2 1-1 - 100,100 100
StringNormalizer 10 1-1 1-1 case_change_action=NONE,is_case_sensitive=0,locale,stopwords 100 100
StringSplit 20 1-1 2-2 delimiter,maxsplit 100 100,80
Sub 7 2-2 1-1 - 3cc2,3cc2 3cc2 | 13 2-2 1-1 - 13cc2,13cc2 13cc2 | 14 2-2 1-1 - 13cfe,13cfe 13cfe
Sum 6 1- 1-1 - c02 c02 | 8 1- 1-1 - c02 c02 | 13 1- 1-1 - 10c02 10c02
SwiGLU 28 2-2 1-1 alpha=1 10c02,10c02 10c02
Swish 24 1-1 1-1 alpha=1 10c02 10c02
Tan 7 1-1 1-1 - c02 c02 | 22 1-1 1-1 - 10c02 10c02
Tanh 6 1-1 1-1 - c02 c02 | 13 1-1 1-1 - 10c02 10c02
TensorScatter 24 2-3 1-1 axis=-2,mode=linear 1fffffe,1fffffe,80 1fffffe
TfIdfVectorizer 9 1-1 1-1 max_gram_length,max_skip_count,min_gram_length,mode,ngram_counts,ngram_indexes,pool_int64s,pool_strings,weights 1c0 2
ThresholdedRelu 10 1-1 1-1 alpha=1 c02 c02 | 22 1-1 1-1 alpha=1 10c02 10c02
Tile 6 2-2 1-1 - fffe,80 fffe | 13 2-2 1-1 - 1fffe,80 1fffe
TopK 1 1-1 2-2 axis=-1,k c02 c02,80 | 10 2-2 2-2 axis=-1 c02,80 c02,80 | 11 2-2 2-2 axis=-1,largest=1,sorted=1 3cfe,80 3cfe,80 | 24 2-2 2-2 axis=-1,largest=1,sorted=1 13cfe,80 13cfe,80
Transpose 1 1-1 1-1 perm fffe fffe | 13 1-1 1-1 perm 1fffe 1fffe | 21 1-1 1-1 perm 7ffffe 7ffffe | 23 1-1 1-1 perm fffffe fffffe | 24 1-1 1-1 perm 1fffffe 1fffffe | 25 1-1 1-1 perm 7fffffe 7fffffe
Trilu 14 1-2 1-1 upper=1 1fffe,80 1fffe
Unique 11 1-1 1-4 axis,sorted=1 fffe fffe,80,80,80 | 28 1-1 1-4 axis,sorted=1 1fffe 1fffe,80,80,80
Unsqueeze 1 1-1 1-1 axes fffe fffe | 11 1-1 1-1 axes fffe fffe | 13 2-2 1-1 - 1fffe,80 1fffe | 21 2-2 1-1 - 7ffffe,80 7ffffe | 23 2-2 1-1 - fffffe,80 fffffe | 24 2-2 1-1 - 1fffffe,80 1fffffe | 25 2-2 1-1 - 7fffffe,80 7fffffe
Upsample 7 1-1 1-1 mode=nearest,scales fffe fffe | 9 2-2 1-1 mode=nearest fffe,2 fffe | 10 deprecated
Where 9 3-3 1-1 - 200,fffe,fffe fffe | 16 3-3 1-1 - 200,1fffe,1fffe 1fffe
Xor 7 2-2 1-1 - 200,200 200
)";

}  // namespace quench
