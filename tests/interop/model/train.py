"""A few steps of nothing, reported as a real trial would: metrics, log lines, a checkpoint, a pause in between."""

import time

import determined as det


def main() -> None:
    info = det.get_cluster_info()
    assert info is not None, "this runs on a cluster"
    steps, pause_s = (info.trial.hparams[name] for name in ("steps", "pause_s"))
    with det.core.init() as core:
        done = 0
        if info.latest_checkpoint is not None:
            with core.checkpoint.restore_path(info.latest_checkpoint) as path:
                done = int((path / "steps.txt").read_text())
        print(f"starting at step {done}", flush=True)
        while done < steps and not core.preempt.should_preempt():
            done += 1
            core.train.report_training_metrics(steps_completed=done, metrics={"loss": 1 / done})
            time.sleep(pause_s)
        core.train.report_validation_metrics(steps_completed=done, metrics={"validation_loss": 1 / done})
        with core.checkpoint.store_path({"steps_completed": done}) as (path, _):
            (path / "steps.txt").write_text(str(done))
        print(f"stopping at step {done}", flush=True)


if __name__ == "__main__":
    main()
