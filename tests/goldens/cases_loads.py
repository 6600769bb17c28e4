"""Graphs of which a part is wrong: TensorFlow loads them, runs the rest, and fails where a step needs the part."""

import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

from c_session import CSession
from cases_errors import IA, const, function, graph, unary
from golden_case import Case, problems, tf1

GOOD = (const("x", "dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 1 float_val: -2") +
        unary("y", "Neg", "x"))
VERSIONS = "versions { producer: 1987 }"


def aside(name, about, text, bad=None, contains=(), code=IA, ours=False):
    """`y` runs, what `bad` names does not, and then `y` runs still.

    Python's importer looks into functions, TensorFlow's session does not: the session is asked, and `y` has the value
    that it has in the graph without the part.
    """
    whole = graph(GOOD + text + VERSIONS).SerializeToString(deterministic=True)
    session = CSession()
    answers = [session.extend(whole), session.run(["y:0"], [])]
    if bad and not ours:
        answers += [session.run([bad + ":0"], []), session.run(["y:0"], [])]
    session.close()
    wanted = ["OK", "OK", code, "OK"][:len(answers)]
    if [answer[0] for answer in answers] != wanted:
        problems.append("%s: expected %s, got %s" % (name, wanted, answers))
    case = Case("loads/" + name, about, graph(GOOD + VERSIONS)).run(["y"])
    case.set_file("graph.pb", whole)
    if bad:
        case.fail(code, contains, fetches=[bad], ours=True).run(["y"])
        if not ours:
            del case.steps[1]["oracle"]
    case.write()


def constants():
    rows = [("of_another_type", "dtype: DT_INT64 tensor_shape {} int64_val: 1", "DT_FLOAT"),
            ("of_no_type", "tensor_shape {} float_val: 1", "DT_FLOAT"),
            ("of_unknown_type", "dtype: 9999 tensor_shape {} float_val: 1", "DT_FLOAT"),
            ("of_unknown_rank", "dtype: DT_FLOAT tensor_shape { unknown_rank: true } float_val: 1", "DT_FLOAT"),
            ("cut", r'dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: "\000\000\200?\000"',
             "DT_FLOAT"),
            ("of_4_tib", "dtype: DT_FLOAT tensor_shape { dim { size: 1099511627776 } } float_val: 1", "DT_FLOAT"),
            ("of_strings_past_the_end",
             r'dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: "\001\010ab"', "DT_STRING")]
    for name, tensor, dtype in rows:
        text = const("k", tensor, dtype) + unary("out", "Identity", "k", dtype)
        aside("constant_" + name, "a constant that nothing needs: " + name.replace("_", " "), text, "out", ["k"],
              ours=name == "of_unknown_rank")


def functions():
    square = unary("sq", "Square", "x")
    call = 'node { name: "call" op: "F" input: "x" }'
    rows = [("result_type", unary("sq", "Cast", "x").replace("attr", 'attr { key: "SrcT" value { type: DT_FLOAT } } '
                                                            'attr { key: "DstT" value { type: DT_INT32 } } attr', 1),
             "sq:y:0", IA),
            ("argument_type", unary("sq", "Square", "x", "DT_INT32"), "sq:y:0", IA),
            ("unknown_result", square, "cube:y:0", IA),
            ("unknown_input", unary("sq", "Square", "z"), "sq:y:0", IA),
            ("unknown_op", unary("sq", "Sqare", "x"), "sq:y:0", "NOT_FOUND"),
            ("ring", unary("sq", "Square", "r:y:0") + unary("r", "Neg", "sq:y:0"), "sq:y:0", IA)]
    for name, body, ret, code in rows:
        about = "a function whose body is wrong: " + name.replace("_", " ")
        aside("function_uncalled_" + name, about, function("F", body, ret))
        aside("function_" + name, about, function("F", body, ret) + call, "call", code=code)
    aside("function_uncalled_calls_itself", "a function that calls itself and that nothing calls",
          function("F", call, "call:y:0"))
    aside("call_of_other_results", "a call that says other results than its function has",
          function("F", square, "sq:y:0") +
          'node { name: "call" op: "PartitionedCall" input: "x" attr { key: "f" value { func { name: "F" } } } '
          'attr { key: "Tin" value { list { type: DT_FLOAT } } } '
          'attr { key: "Tout" value { list { type: DT_INT32 } } } }',
          "call", ours=True)


def loops():
    enter = unary("e", "Enter", "x").replace("attr", 'attr { key: "frame_name" value { s: "f" } } attr', 1)
    aside("exit_outside", "Exit outside of any frame", unary("out", "Exit", "x"), "out")
    aside("frames_mixed", "one input from a frame, one from outside",
          enter + unary("m", "Mul", 'e" input: "x') + unary("out", "Exit", "m"), "out", ["m"])
    aside("frame_without_name", "Enter into a frame without a name",
          enter.replace('s: "f"', 's: ""') + unary("out", "Exit", "e"), "out")


def dumps():
    arg = ('node { name: "a" op: "_Arg" attr { key: "T" value { type: DT_FLOAT } } '
           'attr { key: "index" value { i: 0 } } }')
    retval = ('node { name: "r" op: "_Retval" input: "b" attr { key: "T" value { type: DT_FLOAT } } '
              'attr { key: "index" value { i: 0 } } }')
    case = Case("loads/dump_of_a_function", "the body of a function as a graph: its argument is fed",
                graph(GOOD + arg + unary("b", "Square", "a") + retval + VERSIONS))
    case.run(["y"]).run(["b"], {"a": np.float32([3, -4])}).fail(IA, ["a"], fetches=["b"]).run(["y"]).write()


def signatures(folder):
    target = os.path.join(folder, "model")
    built = tf.Graph()
    with built.as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf.float32, [None], name="x")
        y = tf.square(x, name="y")
        signature = tf1.saved_model.predict_signature_def({"x": x}, {"y": y})
        wrong = tf1.SignatureDef() if hasattr(tf1, "SignatureDef") else type(signature)()
        wrong.CopyFrom(signature)
        wrong.outputs["y"].dtype = tf.string.as_datatype_enum
        missing = type(signature)()
        missing.CopyFrom(signature)
        missing.inputs["x"].name = "gone:0"
        builder = tf1.saved_model.Builder(target)
        builder.add_meta_graph_and_variables(session, ["serve"], {"good": signature})
        builder._saved_model.meta_graphs[0].signature_def["wrong"].CopyFrom(wrong)
        builder._saved_model.meta_graphs[0].signature_def["missing"].CopyFrom(missing)
        builder.save()
    Case("loads/signatures_aside", "signatures beside the one that runs disagree with the graph", saved_model=target,
         signature="good", needs=["saved_model"]).run(["y"], {"x": np.float32([3, 4])}).write()


def main():
    constants()
    functions()
    loops()
    dumps()
    folder = tempfile.mkdtemp()
    try:
        signatures(folder)
    finally:
        shutil.rmtree(folder)
