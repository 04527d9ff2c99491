//! TEMPORARY: the core's changes, to be compared with Python's.
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use latpcap_core::recording::ClockReading;
use latpcap_core::rtt::changes::find;
use latpcap_core::rtt::comparison::{self, Measurement, Witness};
use latpcap_core::rtt::evidence::{Clean, Collected, Evidence};
use latpcap_core::rtt::phases::{Changes, Phases};
use latpcap_core::rtt::values::Values;

use super::errors::python_error;
use super::tables::{Recording, numbers};

type Ints<'py> = PyReadonlyArray1<'py, i64>;

fn series((time, ns, statement): &(Ints<'_>, Ints<'_>, Ints<'_>)) -> Vec<Measurement> {
    let rows = time.as_array().to_vec().into_iter().zip(ns.as_array().to_vec()).zip(numbers(statement));
    (0..).zip(rows).map(|(place, ((time_ns, ns), statement))| Measurement { time_ns, place, ns, statement }).collect()
}

#[pyfunction]
pub fn cmp_changes(one: (Ints<'_>, Ints<'_>, Ints<'_>), responses: (Ints<'_>, Ints<'_>, Ints<'_>)) -> Vec<i64> {
    comparison::changes(&series(&one), &series(&responses))
}

fn readings((connection, by_server, time, ticks): &(Ints<'_>, Ints<'_>, Ints<'_>, Ints<'_>)) -> Vec<ClockReading> {
    numbers(connection)
        .into_iter()
        .zip(by_server.as_array().to_vec())
        .zip(time.as_array().to_vec())
        .zip(ticks.as_array().to_vec())
        .map(|(((stream, by_server), time_ns), ticks)| ClockReading {
            stream,
            by_server: by_server != 0,
            time_ns,
            ticks: ticks as u32,
        })
        .collect()
}

#[pyfunction]
pub fn cmp_moved(of: (Ints<'_>, Ints<'_>, Ints<'_>, Ints<'_>), edges: [i64; 3]) -> Vec<f64> {
    comparison::moved_ns(&readings(&of), edges).collect()
}

#[pyfunction]
pub fn cmp_confirmed(
    times: Vec<i64>,
    responses: (Ints<'_>, Ints<'_>, Ints<'_>),
    direct: (Ints<'_>, Ints<'_>, Ints<'_>),
    clocks: (Ints<'_>, Ints<'_>, Ints<'_>, Ints<'_>),
) -> (Vec<(i64, u8)>, f64) {
    let (direct, clocks) = (series(&direct), readings(&clocks));
    let (kept, doubted) = Witness { direct: &direct, clocks: &clocks }.confirmed(&times, &series(&responses));
    (kept.into_iter().map(|(time, by)| (time, by as u8)).collect(), doubted)
}

type Half<'py> = (
    (Ints<'py>, Ints<'py>),
    (Ints<'py>, Ints<'py>),
    (Ints<'py>, Ints<'py>, Ints<'py>),
    (Ints<'py>, Ints<'py>, Ints<'py>, Ints<'py>),
);

#[pyfunction]
pub fn cmp_find(
    recording: &Recording,
    path: Ints<'_>,
    paths: usize,
    halves: [Half<'_>; 2],
    relevant: Vec<[bool; 2]>,
) -> PyResult<(Vec<(u32, i64, u8)>, Vec<f64>, f64)> {
    let connections = recording.core.database_connections().map_err(python_error)?;
    let path = numbers(&path);
    let phases = Phases::of(&connections, path.clone(), Changes::none(paths));
    let mut lists = vec![[(); 2].map(|()| (vec![], vec![], vec![])); paths];
    let mut clean = vec![vec![]; 2];
    for (half, (handshakes, acks, bounds, rules)) in halves.iter().enumerate() {
        for (c, ns) in numbers(&handshakes.0).into_iter().zip(handshakes.1.as_array().to_vec()) {
            lists[path[c as usize] as usize][half].0.push(ns);
        }
        for (c, ns) in numbers(&acks.0).into_iter().zip(acks.1.as_array().to_vec()) {
            lists[path[c as usize] as usize][half].1.push(ns);
        }
        for ((c, ns), s) in numbers(&bounds.0).into_iter().zip(bounds.1.as_array().to_vec()).zip(numbers(&bounds.2)) {
            lists[path[c as usize] as usize][half].2.push((ns, s));
        }
        let [quiet, prompt, confirmed, left] =
            [&rules.0, &rules.1, &rules.2, &rules.3].map(|column| column.as_array().to_vec());
        clean[half] = (0..quiet.len())
            .map(|row| Clean {
                needs_quiet: quiet[row] != 0,
                prompt_ns: prompt[row],
                confirmed_ns: confirmed[row],
                is_left_over: left[row] != 0,
            })
            .collect();
    }
    let collected = Collected {
        of_phases: Vec::new(),
        of_periods: Some(
            lists
                .into_iter()
                .map(|halves| {
                    halves.map(|(handshakes, acks, bounds)| Evidence {
                        handshakes: Values::of(handshakes),
                        acks: Values::of(acks),
                        responses: Values::of_statements(bounds),
                        ..Evidence::default()
                    })
                })
                .collect(),
        ),
        clean: (0..path.len()).map(|row| [clean[0][row], clean[1][row]]).collect(),
        ..Collected::default()
    };
    let begun = std::time::Instant::now();
    let (changes, doubted) = find(&recording.core, &connections, &phases, &collected, &relevant)?;
    Ok((
        changes.all().iter().map(|change| (change.path, change.time_ns, change.shown_by as u8)).collect(),
        doubted,
        begun.elapsed().as_secs_f64(),
    ))
}
