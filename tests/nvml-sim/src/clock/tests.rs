//! Clocks that are told, that run, and that step.

use super::*;

fn told() -> Clock {
    Clock::new(&ClockConfig { mode: ClockMode::Virtual, start_wall_us: 1_000_000, ..ClockConfig::default() }, None)
}

#[test]
fn a_told_clock_moves_only_when_told() {
    let mut clock = told();
    assert_eq!((clock.look(), clock.wall(0)), (0, 1_000_000));
    clock.advance(500);
    assert_eq!((clock.look(), clock.wall(500)), (500, 1_000_500));
}

#[test]
fn set_forward_it_runs_and_set_back_it_steps() {
    let mut clock = told();
    clock.set_wall(1_000_700);
    assert_eq!(clock.look(), 700);
    clock.set_wall(900_000);
    assert_eq!((clock.look(), clock.wall(700)), (700, 900_000));
}

#[test]
fn stamps_from_before_a_step_stay_as_they_were() {
    let mut clock = told();
    clock.advance(100);
    clock.step_wall(-50_000);
    clock.advance(100);
    assert_eq!((clock.wall(99), clock.wall(100), clock.wall(200)), (1_000_099, 950_100, 950_200));
}

#[test]
fn a_time_file_goes_before_the_scenario_and_may_be_half_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("time");
    std::fs::write(&file, "5000000 1000\n").unwrap();
    let mut clock = Clock::new(&ClockConfig::default(), Some(file.clone()));
    assert_eq!((clock.look(), clock.wall(1000)), (1000, 5_000_000));
    std::fs::write(&file, "50").unwrap();
    assert_eq!(clock.look(), 1000);
    std::fs::write(&file, "5002000 3000").unwrap();
    assert_eq!((clock.look(), clock.wall(3000)), (3000, 5_002_000));
}
