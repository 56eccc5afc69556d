/** Frames are delivered whole for any chunks, and malformed ones end the reading. */
import fc from 'fast-check'
import t from 'tap'
import {
  createFrameReader,
  FRAME_TYPES,
  type FrameType,
  frameHeader,
  MAX_FRAME_BYTES,
  MalformedFrame,
} from '../../src/keys/mpc/channel/frames.ts'

type Read = { type: FrameType; payload: string }

function readAll(pieces: readonly Buffer[]): Read[] {
  const frames: Read[] = []
  const read = createFrameReader((type, payload) => {
    frames.push({ type, payload: Buffer.from(payload).toString('hex') })
  })
  for (const piece of pieces) read(piece)
  return frames
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
  return ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end))
}

t.test('frames are decoded unchanged, in whatever pieces they arrive', (t) => {
  const frame = fc.oneof(
    fc.record({ type: fc.constant<FrameType>('data'), payload: fc.uint8Array({ maxLength: 300 }) }),
    fc.record({ type: fc.constantFrom<FrameType>('hello', 'ping', 'pong'), payload: fc.constant(new Uint8Array()) }),
  )
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 30 }), (frames, places) => {
      const bytes = Buffer.concat(frames.flatMap(({ type, payload }) => [frameHeader(type, payload.length), payload]))
      t.strictSame(
        readAll(cut(bytes, places)),
        frames.map(({ type, payload }) => ({ type, payload: Buffer.from(payload).toString('hex') })),
      )
    }),
  )
  t.end()
})

t.test('an incomplete frame is not delivered', (t) => {
  const bytes = Buffer.concat([frameHeader('data', 10), Buffer.alloc(10, 7)])
  for (let length = 0; length < bytes.length; length += 1) t.strictSame(readAll([bytes.subarray(0, length)]), [])
  t.equal(readAll([bytes]).length, 1)
  t.end()
})

t.test('a length above the limit, an unknown type and a ping with a payload are refused from the header alone', (t) => {
  const unknown = frameHeader('data', 0)
  unknown[4] = FRAME_TYPES.length
  for (const bytes of [
    frameHeader('data', MAX_FRAME_BYTES + 1),
    unknown,
    frameHeader('ping', 1),
    frameHeader('hello', 1),
  ]) {
    t.throws(() => readAll([bytes]), MalformedFrame)
  }
  t.doesNotThrow(() => readAll([frameHeader('data', MAX_FRAME_BYTES)]))
  t.end()
})
