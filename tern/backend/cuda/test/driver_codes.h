// SPDX-License-Identifier: Apache-2.0
//
// The results of the driver that the stand-in gives, as the documentation numbers them.
#ifndef TERN_BACKEND_CUDA_TEST_DRIVER_CODES_H_
#define TERN_BACKEND_CUDA_TEST_DRIVER_CODES_H_

namespace tern::backend::cuda::standin {

// X(name, number, symbol)
#define TERN_CUDA_ERRORS(X)                                                 \
  X(kErrorInvalidValue, 1, "CUDA_ERROR_INVALID_VALUE")                      \
  X(kErrorOutOfMemory, 2, "CUDA_ERROR_OUT_OF_MEMORY")                       \
  X(kErrorNotInitialized, 3, "CUDA_ERROR_NOT_INITIALIZED")                  \
  X(kErrorNoDevice, 100, "CUDA_ERROR_NO_DEVICE")                            \
  X(kErrorInvalidDevice, 101, "CUDA_ERROR_INVALID_DEVICE")                  \
  X(kErrorInvalidImage, 200, "CUDA_ERROR_INVALID_IMAGE")                    \
  X(kErrorInvalidContext, 201, "CUDA_ERROR_INVALID_CONTEXT")                \
  X(kErrorNoBinary, 209, "CUDA_ERROR_NO_BINARY_FOR_GPU")                    \
  X(kErrorInvalidPtx, 218, "CUDA_ERROR_INVALID_PTX")                        \
  X(kErrorInvalidHandle, 400, "CUDA_ERROR_INVALID_HANDLE")                  \
  X(kErrorNotFound, 500, "CUDA_ERROR_NOT_FOUND")                            \
  X(kErrorIllegalAddress, 700, "CUDA_ERROR_ILLEGAL_ADDRESS")                \
  X(kErrorLaunchResources, 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES")       \
  X(kErrorLaunchTimeout, 702, "CUDA_ERROR_LAUNCH_TIMEOUT")                  \
  X(kErrorIllegalInstruction, 715, "CUDA_ERROR_ILLEGAL_INSTRUCTION")        \
  X(kErrorMisaligned, 716, "CUDA_ERROR_MISALIGNED_ADDRESS")                 \
  X(kErrorLaunchFailed, 719, "CUDA_ERROR_LAUNCH_FAILED")                    \
  X(kErrorCaptureUnsupported, 900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED") \
  X(kErrorCaptureInvalidated, 901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED") \
  X(kErrorGraphUpdateFailure, 910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE")  \
  X(kErrorUnknown, 999, "CUDA_ERROR_UNKNOWN")

enum Code : int {
#define TERN_CUDA_ERROR(name, number, symbol) name = number,
  TERN_CUDA_ERRORS(TERN_CUDA_ERROR)
#undef TERN_CUDA_ERROR
};

}  // namespace tern::backend::cuda::standin

#endif  // TERN_BACKEND_CUDA_TEST_DRIVER_CODES_H_
