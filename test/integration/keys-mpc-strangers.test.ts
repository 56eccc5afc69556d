/** A peer that is not who it claims to be receives no data, and the log shows why. */
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { type ConnectionOptions, connect, createServer, type TLSSocket, type TlsOptions } from 'node:tls'
import t, { type Test } from 'tap'
import { PROTOCOL } from '../../src/keys/mpc/channel/authenticate.ts'
import { frameHeader, MAX_FRAME_BYTES } from '../../src/keys/mpc/channel/frames.ts'
import { tlsOptions } from '../../src/keys/mpc/channel/tls-options.ts'
import type { Identity } from '../../src/keys/mpc/identity.ts'
import { freshIdentity, openTestChannel, trustingIdentities, until } from '../support/mpc-processes.ts'

const anyPort = { host: '127.0.0.1', port: 0 }

async function listening(t: Test, accepts?: (name: string) => boolean) {
  const { trustDir, of } = await trustingIdentities(t, ['party-1', 'party-2'])
  const channel = await openTestChannel(t, {
    identity: of('party-2'),
    trustDir,
    listen: anyPort,
    ...(accepts ? { accepts } : {}),
  })
  return { channel, port: channel.port ?? 0, trustDir, of }
}

/** Connects like an unknown client, sends given data, and records what it receives until it is disconnected. */
async function stranger(port: number, options: ConnectionOptions, says = Buffer.alloc(0)) {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: [PROTOCOL], ...options })
  const heard: Buffer[] = []
  socket.on('data', (piece: Buffer) => void heard.push(piece))
  socket.on('error', () => socket.destroy())
  socket.on('secureConnect', () => socket.write(says))
  await new Promise((resolve) => socket.once('close', resolve))
  return { heard: Buffer.concat(heard), resumed: socket.isSessionReused() }
}

const hello = frameHeader('hello')
const saying = (text: string) => Buffer.concat([hello, frameHeader('data', text.length), Buffer.from(text)])
const keys = (identity: Identity) => ({ cert: identity.certificatePem, key: identity.privateKeyPem() })

async function refused(t: Test, channel: Awaited<ReturnType<typeof listening>>['channel'], fields: object) {
  const line = () => channel.lines.find(({ message }) => message === 'connection refused')
  await until(() => line() !== undefined, 'the refusal is reported')
  t.match(line(), { level: 'warn', from: '127.0.0.1', ...fields })
  t.strictSame(channel.heard, [])
  t.strictSame(channel.connected(), [])
}

t.test('a peer that claims the name of another is disconnected before any message', async (t) => {
  const { channel, port } = await listening(t)
  const impostor = await freshIdentity(t, 'party-1')
  const { heard } = await stranger(port, keys(impostor), saying('steal'))
  t.equal(heard.length, 0)
  await refused(t, channel, { reason: 'certificate_not_trusted', claimed: 'party-1' })
})

t.test('an unexpected name is disconnected, even when its certificate is in the trust directory', async (t) => {
  const { channel, port, of } = await listening(t, (name) => name === 'coordinator')
  const { heard } = await stranger(port, keys(of('party-1')), saying('x'))
  t.equal(heard.length, 0)
  await refused(t, channel, { reason: 'name_not_expected', claimed: 'party-1' })
})

t.test('a name without a certificate in the trust directory is disconnected', async (t) => {
  const { channel, port } = await listening(t)
  const { heard } = await stranger(port, keys(await freshIdentity(t, 'party-9')), saying('x'))
  t.equal(heard.length, 0)
  await refused(t, channel, { reason: 'no_certificate_trusted', claimed: 'party-9', file: /party-9\.crt$/ })
})

t.test('a process does not connect to itself', async (t) => {
  const { channel, port, of } = await listening(t)
  await stranger(port, keys(of('party-2')), saying('x'))
  await refused(t, channel, { reason: 'name_not_expected', claimed: 'party-2' })
})

t.test('a client without a certificate, one of another protocol, and one of TLS 1.2 are disconnected', async (t) => {
  for (const [options, reason] of [
    [{}, 'no_certificate'],
    [{ ALPNProtocols: ['http/1.1'] }, /NO_APPLICATION_PROTOCOL|another_protocol/],
    [{ maxVersion: 'TLSv1.2' }, 'ERR_SSL_UNSUPPORTED_PROTOCOL'],
  ] as const) {
    const { channel, port, of } = await listening(t)
    const identity = reason === 'no_certificate' ? {} : keys(of('party-1'))
    const { heard } = await stranger(port, { ...identity, ...options } as ConnectionOptions, saying('x'))
    t.equal(heard.length, 0)
    await refused(t, channel, { reason })
  }
})

t.test('a plain TCP connection is closed: at once when it sends something, after a time limit otherwise', async (t) => {
  const { channel, port } = await listening(t)
  const talking = connectPlain(port, '127.0.0.1')
  const silent = connectPlain(port, '127.0.0.1')
  for (const socket of [talking, silent]) socket.on('error', () => socket.destroy()).resume()
  talking.write('GET / HTTP/1.1\r\n\r\n')
  await Promise.all([once(talking, 'close'), once(silent, 'close')])
  const refused = () => channel.lines.filter(({ message }) => message === 'connection refused')
  await until(() => refused().length === 2, 'both are refused')
  const reasons = refused().map(({ reason }) => reason)
  t.strictSame(reasons.sort(), ['ERR_SSL_HTTP_REQUEST', 'ERR_TLS_HANDSHAKE_TIMEOUT'])
})

t.test('a trusted peer that breaks the protocol is disconnected, and its earlier messages stay valid', async (t) => {
  const data = frameHeader('data', 2)
  for (const wrong of [
    Buffer.concat([hello, data, Buffer.from('ok'), frameHeader('data', MAX_FRAME_BYTES + 1)]),
    Buffer.concat([hello, data, Buffer.from('ok'), hello, data, Buffer.from('no')]),
    Buffer.concat([hello, data, Buffer.from('ok'), Buffer.from('00000000ff', 'hex'), data, Buffer.from('no')]),
  ]) {
    const { channel, port, of } = await listening(t)
    await stranger(port, keys(of('party-1')), wrong)
    await until(() => channel.gone.length === 1, 'it is gone')
    t.strictSame(
      channel.heard.map(({ frame }) => frame.toString()),
      ['ok'],
    )
  }
  const { channel, port, of } = await listening(t)
  await stranger(port, keys(of('party-1')), Buffer.concat([data, Buffer.from('no')]))
  await refused(t, channel, { reason: 'broke_the_protocol', claimed: 'party-1' })
})

t.test('no TLS session is resumed: a peer that reconnects authenticates again', async (t) => {
  const { channel, port, of } = await listening(t)
  const sessions: Buffer[] = []
  const first = connect({ host: '127.0.0.1', port, ...tlsOptions(of('party-1')) })
  first.on('session', (session: Buffer) => void sessions.push(session))
  first.on('error', () => first.destroy())
  await once(first, 'secureConnect')
  first.write(hello)
  await until(() => channel.connected().length === 1, 'it is known')
  const session = sessions.at(-1) ?? first.getSession()
  if (session === undefined) throw new Error('there is no session that could be tried')
  first.destroy()
  const { resumed } = await stranger(port, { session }, saying('x'))
  t.notOk(resumed)
  await until(() => channel.lines.some(({ reason }) => reason === 'no_certificate'), 'it is asked for its certificate')
})

/** A server in place of `party-2`, which `party-1` dials. */
async function dialling(t: Test, serve: (of: (name: string) => Identity) => Promise<TlsOptions>) {
  const { trustDir, of } = await trustingIdentities(t, ['party-1', 'party-2', 'party-3'])
  const heard: Buffer[] = []
  const sockets = new Set<TLSSocket>()
  const server = createServer({ requestCert: true, rejectUnauthorized: false, ...(await serve(of)) }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('data', (piece: Buffer) => void heard.push(piece))
    socket.write(saying('trap'))
  })
  server.on('tlsClientError', (_, socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const bound = server.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0
  const channel = await openTestChannel(t, {
    identity: of('party-1'),
    trustDir,
    dials: new Map([['party-2', { host: '127.0.0.1', port }]]),
  })
  return { channel, heard }
}

t.test('a client checks the server too: a server that is another peer gets no message', async (t) => {
  const impostor = await freshIdentity(t, 'party-2')
  for (const [serve, reason] of [
    [async () => tlsOptions(impostor), 'certificate_not_trusted'],
    [async (of: (name: string) => Identity) => tlsOptions(of('party-3')), 'name_not_expected'],
    [
      async (of: (name: string) => Identity) => ({ ...keys(of('party-2')), maxVersion: 'TLSv1.2' }) as const,
      /PROTOCOL/,
    ],
    [async (of: (name: string) => Identity) => keys(of('party-2')), 'another_protocol'],
  ] as const) {
    const { channel, heard } = await dialling(t, serve)
    const told = () => channel.lines.find(({ message }) => message === 'cannot reach peer')
    await until(() => told() !== undefined, 'the reason is reported')
    t.match(told(), { peer: 'party-2', reason })
    await new Promise((resolve) => setTimeout(resolve, 400))
    t.equal(channel.lines.length, 1, 'repeated attempts are logged once')
    t.equal(Buffer.concat(heard).length, 0)
    t.strictSame(channel.heard, [])
    t.throws(() => channel.send('party-2', Buffer.from('x')), { code: 'mpc_peer_unreachable' })
  }
})

t.test('a replaced certificate is valid at once, and the old one no longer', async (t) => {
  const { channel, port, trustDir, of } = await listening(t)
  const dials = new Map([['party-2', { host: '127.0.0.1', port }]])
  const old = await openTestChannel(t, { identity: of('party-1'), trustDir, dials })
  await until(() => channel.connected().length === 1, 'the old one is there')
  const next = await freshIdentity(t, 'party-1')
  await writeFile(join(trustDir, 'party-1.crt'), next.certificatePem)
  await until(() => channel.gone.length === 1, 'the old one is cut')
  t.match(
    channel.lines.find(({ message }) => message === 'peer disconnected'),
    { peer: 'party-1', reason: 'certificate_withdrawn' },
  )
  const successor = await openTestChannel(t, { identity: next, trustDir, dials })
  await until(() => channel.connected().length === 1 && successor.connected().length === 1, 'the new one is there')
  channel.send('party-1', Buffer.from('to the new one'))
  await until(() => successor.heard.length === 1, 'it hears')
  t.strictSame(old.heard, [])
  t.strictSame(old.connected(), [])
})

t.test('a removed certificate ends the connection; an incomplete one does not', async (t) => {
  const { channel, port, trustDir, of } = await listening(t)
  const one = await openTestChannel(t, {
    identity: of('party-1'),
    trustDir,
    dials: new Map([['party-2', { host: '127.0.0.1', port }]]),
  })
  await until(() => channel.connected().length === 1 && one.connected().length === 1, 'it is there')
  const path = join(trustDir, 'party-1.crt')
  const pem = await readFile(path, 'utf8')
  await writeFile(path, pem.slice(0, 100))
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.strictSame(channel.gone, [])
  await rm(path)
  await until(() => channel.gone.length === 1, 'it is cut')
  await writeFile(path, pem)
  await until(() => channel.connected().length === 1, 'it may come again')
})

t.test('the second process with the same name is refused', async (t) => {
  const { channel, port, trustDir, of } = await listening(t)
  const dials = new Map([['party-2', { host: '127.0.0.1', port }]])
  const first = await openTestChannel(t, { identity: of('party-1'), trustDir, dials })
  await until(() => first.connected().length === 1, 'the first one is there')
  await openTestChannel(t, { identity: of('party-1'), trustDir, dials })
  await until(() => channel.lines.some(({ reason }) => reason === 'already_connected'), 'the second one is refused')
  await new Promise((resolve) => setTimeout(resolve, 500))
  t.strictSame(channel.gone, [])
  t.strictSame(first.gone, [])
})
