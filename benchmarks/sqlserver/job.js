const { Connection, Request, TYPES } = require('tedious');
const [port, encrypt] = [Number(process.argv[2]), process.argv[3] || 'false'];
let rows = 0, affected = 0;
const connection = new Connection({
  server: '127.0.0.1', authentication: { type: 'default', options: { userName: 'ann', password: 'top secret' } },
  options: { port, database: 'shop', encrypt: encrypt === 'strict' ? 'strict' : encrypt === 'true', trustServerCertificate: true, rowCollectionOnRequestCompletion: false },
});
function run(sql, parameters, how) {
  return new Promise((resolve, reject) => {
    const request = new Request(sql, (error, count) => error ? reject(error) : resolve(count));
    for (const [name, type, value] of parameters || []) request.addParameter(name, type, value);
    request.on('row', () => rows++);
    connection[how || 'execSql'](request);
  });
}
connection.connect(async (error) => {
  if (error) { console.error(error.message); process.exit(1); }
  try {
    await run('select id from order_ids');
    for (let i = 0; i < 50; i++) await run('select id, name from items where id = @id', [['id', TYPES.Int, i]]);
    await new Promise((resolve, reject) => connection.beginTransaction((e) => e ? reject(e) : resolve()));
    for (let i = 0; i < 10; i++) affected += await run('insert into items (id) values (@id)', [['id', TYPES.Int, i]]);
    await new Promise((resolve, reject) => connection.commitTransaction((e) => e ? reject(e) : resolve()));
    await run('select id, doc from wide_table', [], 'execSqlBatch');
    const bulk = connection.newBulkLoad('items', (e, count) => { affected += count || 0; connection.close(); });
    bulk.addColumn('id', TYPES.Int, { nullable: false });
    connection.on('end', () => { console.log(rows, affected); });
    connection.execBulkLoad(bulk, Array.from({ length: 300 }, (_, id) => ({ id })));
  } catch (e) { console.error(e.message); process.exit(1); }
});
