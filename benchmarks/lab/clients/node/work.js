// node work.js DRIVER SHAPE N [parameter=value…]: one workload of the lab, with the dialogue of ../../workloads.py.
const place = { host: '10.77.0.2', user: 'lab', password: 'labpw', database: 'lab' };
const [driver, shape, size, ...words] = process.argv.slice(2);
let n = 2; // to warm up
const given = Object.fromEntries(words.map((word) => word.split('=')).map(([name, value]) => [name, Number(value)]));
const run = { statements: 0, rows: 0 };
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const counted = (rows) => {
  run.statements += 1;
  run.rows += rows.length;
  return rows;
};

// Each driver: a connection and a pool with query(sql, values) and end(), the rows of a statement one by one.
const mysql2 = (options) => {
  const mysql = require('mysql2/promise');
  const wrapped = (client) => ({
    query: async (sql, values) => counted((await client.query(sql, values))[0]),
    prepared: async (sql, values) => counted((await client.execute(sql, values))[0]),
    stream: (sql) => (client.connection || client).query(sql).stream(),
    end: () => client.end(),
  });
  return {
    client: 'mysql2', one: '?',
    connect: async () => wrapped(await mysql.createConnection({ ...place, ...options })),
    pool: (connections) => wrapped(mysql.createPool({ ...place, ...options, connectionLimit: connections })),
  };
};

const pg = () => {
  const { Client, Pool } = require('pg');
  const wrapped = (client) => ({
    query: async (sql, values) => counted((await client.query(sql, values)).rows),
    prepared: async (sql, values) => counted((await client.query({ name: 'one', text: sql, values })).rows),
    stream: (sql) => client.query(new (require('pg-query-stream'))(sql, [], { batchSize: given.batch })),
    onNotification: (what) => client.on('notification', what),
    end: () => client.end(),
  });
  return {
    client: 'pg', one: '$1',
    connect: async () => {
      const client = new Client(place);
      await client.connect();
      return wrapped(client);
    },
    pool: (connections) => wrapped(new Pool({ ...place, max: connections })),
  };
};

const firebird = () => {
  const { attach } = require('node-firebird');
  const login = { host: '10.77.0.2', port: 3050, database: 'lab', user: 'SYSDBA', password: 'masterkey', pluginName: 'Srp', wireCrypt: 0 };
  const promised = (call) => new Promise((done, fail) => call((error, result) => (error ? fail(error) : done(result))));
  return {
    client: 'node-firebird', one: '?',
    connect: async () => {
      const client = await promised((back) => attach(login, back));
      return {
        query: async (sql, values) => counted(await promised((back) => client.query(sql, values, back))),
        end: () => promised((back) => client.detach(back)),
      };
    },
  };
};

const drivers = { mysql2, compressed: () => mysql2({ compress: true }), pg, firebird };
const source = drivers[driver]();
const limit = source.client === 'node-firebird' ? ['FIRST', ''] : ['', 'LIMIT'];
const some = given.rows || 1;
const salaries = `SELECT ${limit[0] && `FIRST ${some}`} salary, from_date FROM salaries WHERE emp_no = ${source.one} ${limit[1] && `LIMIT ${some}`}`;
const ask = (client, key) => client.query(salaries, [key]);
const range = (count) => Array.from({ length: count }, (_, i) => i + 1);

async function alone(work) {
  const client = await source.connect();
  await work(client);
  await client.end();
}

async function pooled(work) {
  const pool = source.pool(given.connections);
  await work(pool);
  await pool.end();
}

const shapes = {
  nplus1: () => alone(async (client) => {
    for (const key of range(n)) await ask(client, key);
  }),

  prepared: () => alone(async (client) => {
    for (const key of range(n)) await client.prepared(salaries, [key]);
  }),

  thinking: () => alone(async (client) => {
    for (const key of range(n)) {
      await ask(client, key);
      await pause(given.think);
    }
  }),

  transactions: () => alone(async (client) => {
    for (const key of range(n)) {
      await client.query('BEGIN');
      await client.query(`UPDATE acc SET bal = bal + 1 WHERE id = ${source.one}`, [key]);
      await client.query('COMMIT');
    }
  }),

  connect_each: async () => {
    for (const key of range(n)) await alone((client) => ask(client, key));
  },

  // All at once on one connection: the driver keeps them in a queue of its own.
  queued: () => alone((client) => Promise.all(range(n).map((key) => ask(client, key)))),

  // `tasks` loops share `connections` connections.
  pool: () => pooled(async (pool) => {
    const keys = range(n);
    await Promise.all(range(given.tasks).map(async () => {
      while (keys.length) await ask(pool, keys.shift());
    }));
  }),

  // All n at once on a pool.
  all_at_once: () => pooled((pool) => Promise.all(range(n).map((key) => ask(pool, key)))),

  // One query, `side` at once, one more: n requests after each other.
  web: () => pooled(async (pool) => {
    for (const request of range(n)) {
      await ask(pool, request);
      await Promise.all(range(given.side).map((i) => ask(pool, ((request * 10) % 1500) + i)));
      await ask(pool, request);
      await pause(given.think);
    }
  }),

  // A query every `period` ms, whether the one before is answered or not: the driver queues it then.
  timer: () => alone(async (client) => {
    const asked = [];
    await new Promise((done) => {
      const clock = setInterval(() => {
        asked.push(ask(client, asked.length + 1));
        if (asked.length === n) {
          clearInterval(clock);
          done();
        }
      }, given.period);
    });
    await Promise.all(asked);
  }),

  // The next query `period` ms after the last one's answer: no clock, a pause.
  poll: () => alone(async (client) => {
    for (const key of range(n)) {
      await ask(client, key);
      await pause(given.period);
    }
  }),

  // The next result is under way while a worker takes `work` ms for this one.
  prefetch: () => alone(async (client) => {
    let coming = ask(client, 1);
    for (const key of range(n)) {
      await coming;
      if (key < n) coming = ask(client, key + 1);
      await pause(given.work);
    }
    await coming;
  }),

  stream: () => alone(async (client) => {
    run.statements += 1;
    for await (const row of client.stream(`SELECT * FROM big WHERE id <= ${n}`)) run.rows += row ? 1 : 0;
  }),

  bulk: () => alone((client) => client.query(`SELECT * FROM big WHERE id <= ${n}`)),

  // A listener is woken by a sender that works for `work` ms before each message; the listener then asks for the news.
  notified: async () => {
    const [listener, sender] = await Promise.all([source.connect(), source.connect()]);
    await listener.query(`LISTEN news${process.pid}`);
    const answers = [];
    const heard = new Promise((done) => {
      listener.onNotification(() => {
        answers.push(ask(listener, answers.length + 1));
        if (answers.length === n) done();
      });
    });
    for (const _ of range(n)) {
      await pause(given.work);
      await sender.query(`NOTIFY news${process.pid}, 'one'`);
    }
    await heard;
    await Promise.all(answers);
    await Promise.all([listener.end(), sender.end()]);
  },
};

const version = JSON.parse(require('fs').readFileSync(`${process.env.NODE_PATH}/${source.client}/package.json`)).version;
const warmed = process.env.COLD ? Promise.resolve() : shapes[shape]();
warmed.then(() => console.log('READY'));
process.stdin.once('data', async () => {
  await warmed;
  n = Number(size);
  run.statements = run.rows = 0;
  const begin = performance.now();
  await shapes[shape]();
  const seconds = (performance.now() - begin) / 1000;
  console.log(JSON.stringify({ client: `${source.client} ${version}`, ...run, seconds, total: seconds }));
  process.exit();
});
