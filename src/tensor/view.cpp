// The message of a view that is read as another type.
#include "tensor/view.hpp"

#include "base/error.hpp"

namespace plait::tensor {

void refuse_dtype(const TensorDesc& desc, DType wanted) {
  fail("a tensor {} of {} is used as {}", desc.shape, name_of(desc.dtype), name_of(wanted));
}

}  // namespace plait::tensor
