/** Names of partitions, of their leases and of the work in wake-ups. */
import t from 'tap'
import {
  LANE_QUEUES,
  laneOfWork,
  PARTITIONS,
  partitionLease,
  partitionOf,
  workName,
} from '../../src/transactions/partitions.ts'

const LANE = '31337-0xAb5801a7D398351b8bE11C439e05C5B3259aeC9B'

t.test('a lane is in the partition of the first digit of its sender, in whichever letters it is written', async (t) => {
  t.equal(partitionOf(LANE), 'a')
  t.equal(partitionOf(LANE.toLowerCase()), 'a')
  t.equal(partitionOf('1-0x7b5801a7D398351b8bE11C439e05C5B3259aeC9B'), '7')
  for (const digit of '0123456789abcdef')
    t.ok((PARTITIONS as readonly (string | null)[]).includes(partitionOf(`1-0x${digit.padEnd(40, '0')}`)))
})

t.test('what is no name of a lane is in no partition', async (t) => {
  for (const name of [
    '',
    'a',
    '1-',
    '1-0x',
    `${LANE}0`,
    LANE.slice(0, -1),
    `sign ${LANE}`,
    '-0xab',
    '7',
    `0${LANE}`,
    `0-${LANE.slice(6)}`,
  ])
    t.equal(partitionOf(name), null, name)
})

t.test('no two partitions or queues share a lease', async (t) => {
  const leases = LANE_QUEUES.flatMap((queue) => PARTITIONS.map((partition) => partitionLease(queue, partition)))
  t.equal(new Set(leases).size, 48)
  t.strictSame([leases[7], leases[23], leases[47]], ['sign-7', 'sign-mpc-7', 'submit-f'])
})

t.test('the work of a step is that of no other step', async (t) => {
  t.equal(workName('sign', LANE), `sign ${LANE}`)
  t.equal(laneOfWork('sign', workName('sign', LANE)), LANE)
  t.equal(laneOfWork('submit', workName('sign', LANE)), null)
  t.equal(laneOfWork('sign', `signature ${LANE}`), null)
})
