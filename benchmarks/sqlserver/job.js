// One workload by tedious, or by a mapper on it: `job.js CLIENT WORKLOAD PORT MODE`; prints rows and changes.
const { Connection, Request, TYPES } = require('tedious');
const host = process.env.SQLSERVER || '127.0.0.1';
const [client, workload, port, mode] = process.argv.slice(2);
const ONE = 'select id, name from items where id = @id', INSERT = 'insert into items (id, name) values (@id, @name)';
let rows = 0, changes = 0;

const encrypt = mode === 'strict' ? 'strict' : mode === 'all';
const options = { port: Number(port), database: 'shop', encrypt, trustServerCertificate: true };
function connect() {
  const authentication = { type: 'default', options: { userName: 'ann', password: 'top secret' } };
  return new Promise((resolve, reject) => {
    const connection = new Connection({ server: host, authentication, options });
    connection.connect((error) => error ? reject(error) : resolve(connection));
  });
}
function close(connection) {
  return new Promise((resolve) => { connection.on('end', resolve); connection.close(); });
}
function run(connection, sql, values = {}, how = 'execSql') {
  return new Promise((resolve, reject) => {
    const request = new Request(sql, (error, count) => error ? reject(error) : resolve(count));
    for (const [name, value] of Object.entries(values)) {
      request.addParameter(name, typeof value === 'number' ? TYPES.Int : TYPES.NVarChar, value);
    }
    request.on('row', () => rows++);
    connection[how](request);
  });
}
const call = (connection, method) => new Promise((resolve, reject) => connection[method]((e) => e ? reject(e) : resolve()));
const write = async (connection, id) => { changes += await run(connection, INSERT, { id, name: 'name' }); };

function prepare(connection, sql, values) {
  return new Promise((resolve, reject) => {
    let done;
    const request = new Request(sql, (error, count) => { if (done) error ? done[1](error) : done[0](count); else reject(error); });
    for (const [name, type] of Object.entries(values)) request.addParameter(name, type);
    request.on('row', () => rows++);
    request.on('prepared', () => resolve((given) => new Promise((ok, no) => { done = [ok, no]; connection.execute(request, given); })));
    connection.prepare(request);
  });
}

const tedious = {
  async n_plus_one(c) {
    await run(c, 'select id from order_ids', {}, 'execSqlBatch');
    for (let id = 0; id < 50; id++) await run(c, ONE, { id });
  },
  async prepared(c) {
    const one = await prepare(c, ONE, { id: TYPES.Int }), insert = await prepare(c, INSERT, { id: TYPES.Int, name: TYPES.NVarChar });
    for (let id = 0; id < 50; id++) { await one({ id }); changes += await insert({ id, name: 'name' }); }
  },
  async cursor_fetch(c) {
    await run(c, 'select id, name from big_table');
    await run(c, 'select id, doc from wide_table');
  },
  async batch(c) {
    changes += await run(c, Array(30).fill("insert into items (id, name) values (1, 'name')").join('; '), {}, 'execSqlBatch');
  },
  async bulk(c) {
    changes += await new Promise((resolve, reject) => {
      const load = c.newBulkLoad('items', (error, count) => error ? reject(error) : resolve(count));
      load.addColumn('id', TYPES.Int, { nullable: false });
      c.execBulkLoad(load, Array.from({ length: 200 }, (_, id) => ({ id })));
    });
  },
  async transactions(c) {
    for (let id = 0; id < 10; id++) {
      await call(c, 'beginTransaction');
      await write(c, id);
      changes += await run(c, "update items set name = 'x' where id = 7", {}, 'execSqlBatch');
      await call(c, id === 7 ? 'rollbackTransaction' : 'commitTransaction');
    }
  },
};

// The mappers ask the same by their own ways, in a pool of one connection.
const UPDATE = "update items set name = 'x' where id = 7", literal = (id) => `insert into items (id, name) values (${id}, 'name')`;
const account = { database: 'shop', user: 'ann', password: 'top secret' };

const mappers = {
  async mssql() {
    const sql = require('mssql');
    const pool = await new sql.ConnectionPool({ ...account, server: host, port: options.port, pool: { max: 1 }, options }).connect();
    const told = (answer) => { rows += (answer.recordset || []).length; changes += answer.rowsAffected.reduce((a, b) => a + b, 0) - (answer.recordset || []).length; };
    return {
      ask: async (text) => told(await pool.query(text)),
      end: () => pool.close(),
      async transaction(id) {
        const transaction = new sql.Transaction(pool);
        await transaction.begin();
        for (const text of [literal(id), UPDATE]) told(await new sql.Request(transaction).query(text));
        await (id === 7 ? transaction.rollback() : transaction.commit());
      },
      async prepared() {
        const one = new sql.PreparedStatement(pool).input('id', sql.Int);
        await one.prepare(ONE);
        for (let id = 0; id < 50; id++) told(await one.execute({ id }));
        await one.unprepare();
      },
      async bulk() {
        const table = new sql.Table('items');
        table.columns.add('id', sql.Int, { nullable: false });
        for (let id = 0; id < 200; id++) table.rows.add(id);
        changes += (await pool.request().bulk(table)).rowsAffected;
      },
    };
  },
  async knex() {
    const knex = require('knex')({ client: 'mssql', pool: { min: 1, max: 1 }, connection: { ...account, server: host, options, port: options.port } });
    const ask = async (text, asked = knex) => { rows += (await asked.raw(text)).length; };
    const work = (id) => async (transaction) => {
      for (const text of [literal(id), UPDATE]) await ask(text, transaction);
      changes += 2;
      if (id === 7) throw new Error('rolled back');
    };
    return {
      ask,
      end: () => knex.destroy(),
      transaction: (id) => knex.transaction(work(id)).catch((error) => { if (id !== 7) throw error; }),
    };
  },
  async sequelize() {
    const { Sequelize } = require('sequelize');
    const pool = { max: 1 }, dialectOptions = { options };
    const sequelize = new Sequelize('shop', 'ann', account.password, { host, port: options.port, dialect: 'mssql', logging: false, pool, dialectOptions });
    const ask = async (text, more) => { rows += (await sequelize.query(text, more))[0].length; };
    return {
      ask,
      end: () => sequelize.close(),
      async transaction(id) {
        const transaction = await sequelize.transaction();
        for (const text of [literal(id), UPDATE]) await ask(text, { transaction });
        changes += 2;
        await (id === 7 ? transaction.rollback() : transaction.commit());
      },
    };
  },
};

const mapped = {
  async n_plus_one({ ask }) { for (let id = 0; id < 50; id++) await ask(`select id, name from items where id = ${id}`); },
  prepared: (mapper) => mapper.prepared(),
  async cursor_fetch({ ask }) { for (const table of ['big_table', 'wide_table']) await ask(`select * from ${table}`); },
  batch: ({ ask }) => ask(Array(30).fill(literal(1)).join('; ')),
  bulk: (mapper) => mapper.bulk(),
  async transactions({ transaction }) { for (let id = 0; id < 10; id++) await transaction(id); },
};

async function byMapper() {
  for (let number = 0; number < (workload === 'connect_per_query' ? 10 : 1); number++) {
    const mapper = await mappers[client]();
    await (mapped[workload] || (({ ask }) => ask(`select id, name from items where id = ${number}`)))(mapper);
    await mapper.end();
  }
}

async function main() {
  if (client !== 'tedious') {
    await byMapper();
  } else if (workload === 'connect_per_query') {
    for (let id = 0; id < 10; id++) { const c = await connect(); await run(c, ONE, { id }); await close(c); }
  } else {
    const c = await connect();
    await tedious[workload](c);
    await close(c);
  }
  console.log(rows, changes);
}
main().catch((error) => { console.error(error); process.exit(1); });
