/**
 * Channels over real sockets: frames arrive whole and in order from the authenticated peer, and unknown peers are
 * disconnected immediately.
 */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { MAX_FRAME_BYTES } from '../../src/keys/mpc/channel/frames.ts'
import type { openChannel } from '../../src/keys/mpc/channel/open-channel.ts'
import { openTestChannel, trustingIdentities, until } from '../support/mpc-processes.ts'
import { openWire } from '../support/wire.ts'

const anyPort = { host: '127.0.0.1', port: 0 }
const at = (port: number | null) => ({ host: '127.0.0.1', port: port ?? 0 })

/** `party-2` listens, `party-1` dials it through a wire. */
async function pair(
  t: import('tap').Test,
  options: Pick<Parameters<typeof openChannel>[0], 'keepaliveMs'> | null = null,
) {
  const { trustDir, of } = await trustingIdentities(t, ['party-1', 'party-2'])
  const two = await openTestChannel(t, { ...options, identity: of('party-2'), trustDir, listen: anyPort })
  const wire = await openWire(t, two.port ?? 0)
  const one = await openTestChannel(t, {
    ...options,
    identity: of('party-1'),
    trustDir,
    dials: new Map([['party-2', at(wire.port)]]),
  })
  await until(() => one.connected().length + two.connected().length === 2, 'both are connected')
  return { one, two, wire, trustDir, of }
}

t.test('three processes that trust each other hear each other, each frame from its true sender', async (t) => {
  const names = ['coordinator', 'party-1', 'party-2']
  const { trustDir, of } = await trustingIdentities(t, names)
  const two = await openTestChannel(t, { identity: of('party-2'), trustDir, listen: anyPort })
  const dialsTwo = ['party-2', at(two.port)] as const
  const one = await openTestChannel(t, {
    identity: of('party-1'),
    trustDir,
    listen: anyPort,
    dials: new Map([dialsTwo]),
  })
  const coordinator = await openTestChannel(t, {
    identity: of('coordinator'),
    trustDir,
    dials: new Map([dialsTwo, ['party-1', at(one.port)]]),
  })
  const channels = { coordinator, 'party-1': one, 'party-2': two }
  await until(() => Object.values(channels).every((channel) => channel.connected().length === 2), 'all are connected')
  t.equal(coordinator.port, null)
  for (const [name, channel] of Object.entries(channels)) {
    for (const peer of names.filter((each) => each !== name)) channel.send(peer, Buffer.from(`${name} to ${peer}`))
  }
  for (const [name, { heard }] of Object.entries(channels)) {
    await until(() => heard.length === 2, `${name} hears both others`)
    for (const { from, frame } of heard) t.equal(frame.toString(), `${from} to ${name}`)
    t.strictSame(
      heard.map(({ from }) => from).sort(),
      names.filter((each) => each !== name),
    )
  }
})

t.test('frames of every size up to the limit arrive unchanged and in order, in both directions at once', async (t) => {
  // A connection that is closed as silent, on a busy machine, loses its frames.
  const { one, two } = await pair(t, { keepaliveMs: 20_000 })
  const sizes = [0, 1, 16_384, 16_385, 150_000, 1_000_000, MAX_FRAME_BYTES, 3, 0]
  const frames = sizes.map((size) => randomBytes(size))
  for (const frame of frames) {
    one.send('party-2', frame)
    two.send('party-1', frame)
  }
  for (const channel of [one, two]) {
    await until(() => channel.heard.length === frames.length, 'all have arrived')
    for (const [index, frame] of frames.entries()) t.ok(channel.heard[index]?.frame.equals(frame), `frame ${index}`)
  }
})

t.test('a frame past the limit is refused before it is sent, and the connection goes on', async (t) => {
  const { one, two } = await pair(t)
  t.throws(() => one.send('party-2', Buffer.alloc(MAX_FRAME_BYTES + 1)), RangeError)
  one.send('party-2', Buffer.from('after'))
  await until(() => two.heard.length === 1, 'the next one arrives')
})

t.test('a send to a disconnected peer is refused', async (t) => {
  const { one } = await pair(t)
  for (const name of ['party-3', 'party-1', '']) {
    t.throws(() => one.send(name, Buffer.from('x')), { code: 'mpc_peer_unreachable', retryable: true }, name)
  }
})

t.test('a flipped bit on the wire ends the connection, delivers nothing, and a new connection is opened', async (t) => {
  const { one, two, wire } = await pair(t)
  const sent: string[] = []
  for (let round = 0; round < 20; round += 1) {
    const before = wire.connections()
    wire.changeWith((piece) => {
      wire.changeWith((rest) => rest)
      const changed = Buffer.from(piece)
      const place = Math.floor((changed.length * round) / 20)
      changed[place] = (changed[place] ?? 0) ^ (1 << (round % 8))
      return changed
    })
    const frame = randomBytes(30_000)
    sent.push(frame.toString('hex'))
    try {
      one.send('party-2', frame)
    } catch (error) {
      t.match(error, { code: 'mpc_peer_unreachable' })
    }
    await until(
      () => wire.connections() > before && one.connected().length + two.connected().length === 2,
      `round ${round}`,
    )
  }
  for (const { frame } of two.heard) t.ok(sent.includes(frame.toString('hex')))
  t.ok(two.gone.length + one.gone.length > 0)
  one.send('party-2', Buffer.from('well'))
  await until(() => two.heard.at(-1)?.frame.toString() === 'well', 'the connection works again')
})

t.test('a peer that is killed is noticed, and is back as soon as it listens again', async (t) => {
  const { one, two, wire, trustDir, of } = await pair(t)
  await two.close()
  wire.cut()
  await until(() => one.gone.length === 1, 'the loss is reported')
  t.strictSame(one.connected(), [])
  t.throws(() => one.send('party-2', Buffer.from('x')), { code: 'mpc_peer_unreachable' })
  const port = two.port ?? 0
  const again = await openTestChannel(t, { identity: of('party-2'), trustDir, listen: { host: '127.0.0.1', port } })
  await until(() => one.connected().length === 1 && again.connected().length === 1, 'it is back')
  one.send('party-2', Buffer.from('again'))
  await until(() => again.heard.length === 1, 'it hears')
})

t.test('a silent peer is disconnected after five intervals', async (t) => {
  const { one, two, wire } = await pair(t)
  const since = Date.now()
  wire.holdUp()
  await until(() => one.gone.length === 1 && two.gone.length === 1, 'both have noticed')
  t.ok(Date.now() - since >= 300)
  // The side that detects the error first closes the connection, so the other may only see the close.
  const reasons = [one, two].flatMap(({ lines }) =>
    lines.filter(({ message }) => message === 'peer disconnected').map(({ reason }) => reason),
  )
  t.equal(reasons.length, 2)
  t.ok(reasons.includes('silent'), `the close reasons are ${reasons.join()}`)
})

t.test('a peer that does not read is given up before it costs more memory', async (t) => {
  const { one, wire } = await pair(t)
  wire.holdUp()
  const frame = Buffer.alloc(8 * 1024 * 1024)
  t.throws(
    () => {
      for (let count = 0; count < 20; count += 1) one.send('party-2', frame)
    },
    { code: 'mpc_peer_unreachable' },
  )
  t.strictSame(one.gone, ['party-2'])
})

t.test('a listener that fails costs its frame, not the connection', async (t) => {
  const { one, two } = await pair(t)
  two.onFrame(() => {
    throw new Error('a defect')
  })
  one.send('party-2', Buffer.from('first'))
  one.send('party-2', Buffer.from('second'))
  await until(() => two.heard.length === 2, 'both arrive')
  t.ok(two.lines.some(({ level, message }) => level === 'error' && message === 'a listener of the channel failed'))
})

t.test('a channel that is closed sends what it was given, ends its connections, and connects no more', async (t) => {
  const { one, two, wire } = await pair(t)
  const last = randomBytes(500_000)
  one.send('party-2', last)
  await one.close()
  await until(() => two.heard.length === 1 && two.gone.length === 1, 'the last frame, then the end')
  t.ok(two.heard[0]?.frame.equals(last))
  const before = wire.connections()
  await new Promise((resolve) => setTimeout(resolve, 500))
  t.equal(wire.connections(), before)
  t.throws(() => one.send('party-2', Buffer.from('x')), { code: 'mpc_peer_unreachable' })
})
