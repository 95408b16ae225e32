# SPDX-License-Identifier: Apache-2.0
"""What models are fed where their files leave it open: shapes of inputs, or arrays where not any will do. `past_*` is all of past_0, past_1, ..."""
import numpy


def of(name):
    """By name of input, for the model of a file; a new dict."""
    tokens = dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), [1, 128])
    known = {
        "bert_base": {**tokens, "attention_mask": numpy.ones([1, 128], dtype="int64")},
        "bert_mlm_tiny": {**tokens, "attention_mask": numpy.ones([1, 128], dtype="int64")},
        "gpt2_past_shrunk": {"past_*": [2, 1, 2, 7, 2]},
        "llama_block": {"hidden": [1, 128, 2048], "position_ids": numpy.arange(16, 144, dtype="int64")[None], "mask": [1, 1, 128, 144],
                        "past_key": [1, 8, 16, 64], "past_value": [1, 8, 16, 64]},
        # An image: where noise saturates what is quantized, one rounding more or less becomes several steps of the result.
        "mobilenetv2_qdq_int8": {"image": numpy.random.default_rng(7).random([1, 3, 244, 244], dtype="float32")},
        "ppocr_cls": {"x": [1, 3, 48, 192]},
        "silero_vad_v5": {"input": [1, 512], "state": [2, 1, 128], "sr": numpy.array(16000, dtype="int64")},
    }
    return known.get(name, {})
