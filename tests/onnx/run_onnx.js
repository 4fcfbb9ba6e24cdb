// node run_onnx.js FOLDER: runs every NAME.onnx of the folder in onnxruntime on the floats of NAME.in (shape in
// NAME.shape) and writes the floats of its output to NAME.out.
const fs = require('fs');
const path = require('path');
const ort = require('onnxruntime-node');

async function main(folder) {
  for (const file of fs.readdirSync(folder).filter((name) => name.endsWith('.onnx'))) {
    const stem = path.join(folder, path.basename(file, '.onnx'));
    const session = await ort.InferenceSession.create(stem + '.onnx', { intraOpNumThreads: 1 });
    const bytes = fs.readFileSync(stem + '.in');
    const floats = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    const shape = fs.readFileSync(stem + '.shape', 'utf8').trim().split('x').map(Number);
    const result = await session.run({ images: new ort.Tensor('float32', floats, shape) });
    const logits = result.logits.data;
    fs.writeFileSync(stem + '.out', Buffer.from(logits.buffer, logits.byteOffset, logits.byteLength));
  }
}

main(process.argv[2]).catch((error) => {
  console.error(String(error));
  process.exit(1);
});
