//! Which of the packed rows are read, and in which order.
//!
//! ```text
//! rows, as they came     0  1  2  3  4  5      packed once, shared by all views
//! a view                    1     0     2      the place of each where it is read; rows without one are not read
//! ```

use std::ops::Range;
use std::sync::Arc;

/// Stands for a row that is not read.
const NO_PLACE: u32 = u32::MAX;

/// Some of the rows in some order.
#[derive(Clone, Debug, Default)]
pub struct View {
    pub order: Order,
    /// Spans that began before the view did are null.
    pub cut: Option<Cut>,
}

#[derive(Clone, Debug)]
pub enum Order {
    /// All of so many rows, in the order they came.
    AsTheyCame(usize),
    /// All rows; the place of each.
    Placed(Arc<Vec<u32>>),
    /// Some rows, ascending, each with its place, from 0 on: a part of a list that several views share.
    Picked(Arc<Vec<[u32; 2]>>, Range<usize>),
}

/// The columns of spans that end at the number in another column, and the least number at which they may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    pub spans: [usize; 2],
    pub end: usize,
    pub begin: i64,
}

impl Default for Order {
    fn default() -> Order {
        Order::AsTheyCame(0)
    }
}

impl View {
    pub fn of(order: Order) -> View {
        View { order, cut: None }
    }

    pub fn len(&self) -> usize {
        match &self.order {
            Order::AsTheyCame(rows) => *rows,
            Order::Placed(places) => places.len(),
            Order::Picked(_, part) => part.len(),
        }
    }

    /// Each row, ascending, and its place.
    fn each(&self, mut take: impl FnMut(u32, usize)) {
        match &self.order {
            Order::AsTheyCame(rows) => (0..*rows).for_each(|row| take(row as u32, row)),
            Order::Placed(places) => (0..).zip(places.iter()).for_each(|(row, &place)| take(row, place as usize)),
            Order::Picked(rows, part) => {
                rows[part.clone()].iter().for_each(|&[row, place]| take(row, place as usize));
            }
        }
    }

    /// A view of these rows at other places, or without one.
    fn moved(&self, place: &[u32]) -> View {
        let mut rows = Vec::with_capacity(place.iter().filter(|&&place| place != NO_PLACE).count());
        self.each(|row, before| {
            if place[before] != NO_PLACE {
                rows.push([row, place[before]]);
            }
        });
        let count = rows.len();
        View { order: Order::Picked(Arc::new(rows), 0..count), cut: self.cut }
    }

    /// The rows at the places that are kept, in the same order.
    pub fn kept(&self, is_kept: &[bool]) -> View {
        let mut next = 0;
        let place = |&is_kept: &bool| {
            let place = if is_kept { next } else { NO_PLACE };
            next += u32::from(is_kept);
            place
        };
        self.moved(&is_kept.iter().map(place).collect::<Vec<_>>())
    }

    /// The rows group by group, in each as before, and where each group begins, at last where all end; those of no group
    /// are left out. `group` has the group of each place.
    pub fn grouped(&self, group: &[Option<u32>], groups: usize) -> (View, Vec<usize>) {
        let mut bounds = vec![0; groups + 1];
        let known = |group: Option<u32>| group.map(|group| group as usize).filter(|&group| group < groups);
        group.iter().filter_map(|&group| known(group)).for_each(|group| bounds[group + 1] += 1);
        (0..groups).for_each(|group| bounds[group + 1] += bounds[group]);
        let mut next = bounds.clone();
        let place = |&group: &Option<u32>| {
            let Some(group) = known(group) else { return NO_PLACE };
            next[group] += 1;
            next[group] as u32 - 1
        };
        (self.moved(&group.iter().map(place).collect::<Vec<_>>()), bounds)
    }

    /// Views of the places from each bound up to the next one, which share one list of all rows.
    pub fn split(&self, bounds: &[usize]) -> Vec<View> {
        let bounds: Vec<usize> = bounds.iter().map(|&bound| bound.min(self.len())).collect();
        let mut list = vec![[0, 0]; self.len()];
        let mut next = bounds.clone();
        self.each(|row, place| {
            let Some(part) = bounds.partition_point(|&bound| bound <= place).checked_sub(1) else { return };
            if let Some(free) = list.get_mut(next[part]) {
                *free = [row, (place - bounds[part]) as u32];
                next[part] += 1;
            }
        });
        let list = Arc::new(list);
        let view = |ends: &[usize]| View { order: Order::Picked(Arc::clone(&list), ends[0]..ends[1]), cut: self.cut };
        bounds.windows(2).map(view).collect()
    }
}
