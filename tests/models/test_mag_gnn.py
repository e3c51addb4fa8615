"""MAG-GNN has no official numbers to meet; these are the rules that its description gives."""

from __future__ import annotations

import networkx as nx
import pytest
import torch
from torch import Tensor

from policylearn.bags import Graphs
from policylearn.models import Inputs
from policylearn.models.systems.mag_gnn import MAGGNN
from policylearn.models.systems.mag_gnn_agent import MAGGNNSettings, Moves, Replay, tuple_bag
from policylearn.nn import Features
from tests.graphs import ATOMS, BONDS, batch_of, data_of, molecules, permuted

SMALL = {"tuples": 3, "size": 2, "moves": 2, "layers": 2, "channels": 6}


def model_of(seed: int = 0, **changes: object) -> MAGGNN:
    torch.manual_seed(seed)
    settings = MAGGNNSettings(**SMALL | changes)  # type: ignore[arg-type]
    return MAGGNN(settings, Inputs(Features((ATOMS,)), Features((BONDS,)))).double()


def terms(outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return (outputs - y).abs(), torch.ones_like(outputs, dtype=torch.bool)


def step(model: MAGGNN, graphs: Graphs, seed: int = 0):
    y = torch.linspace(-1, 1, graphs.num_graphs, dtype=torch.float64).unsqueeze(1)
    return model.objective(graphs, y, terms, generator=torch.Generator().manual_seed(seed))


def test_marks_are_minus_one_at_the_chosen_nodes() -> None:
    graphs = Graphs.of(batch_of(*molecules(2)))
    tuples = torch.stack([graphs.ptr[:-1], graphs.ptr[1:] - 1]).unsqueeze(0)  # (1, 2, G): first and last node
    marks = tuple_bag(graphs, tuples, torch.float64).marks
    assert (marks == -1).sum(0).tolist() == [2, 2]
    assert (marks[graphs.ptr[:-1], 0] == -1).all()
    assert (marks[graphs.ptr[1:] - 1, 1] == -1).all()
    assert ((marks == 1) | (marks == -1)).all()


def test_a_move_changes_one_place_of_each_tuple() -> None:
    tuples = torch.tensor([[[0, 5], [1, 6]], [[2, 7], [3, 8]]])  # (m, k, G)
    after = Moves(torch.tensor([[9, 10], [11, 12]]), torch.tensor([[0, 1], [1, 0]])).apply(tuples)
    assert after.tolist() == [[[9, 5], [1, 10]], [[2, 12], [11, 8]]]


def test_each_tuple_takes_its_best_move() -> None:
    model = model_of().eval()
    graphs = Graphs.of(batch_of(*molecules(4)))
    tuples = model.agent.first_tuples(graphs)
    moves = model.agent.best_moves(graphs, tuples)
    with torch.no_grad():
        worth = model.agent.network(graphs, tuples)  # (N, m, k)
    for graph in range(graphs.num_graphs):
        own = worth[graphs.ptr[graph] : graphs.ptr[graph + 1]]
        for one in range(len(tuples)):
            taken = worth[moves.node[one, graph], one, moves.place[one, graph]]
            assert taken >= own[:, one].max() - 1e-5 * (1 + own[:, one].max().abs())


def test_order_of_nodes_does_not_matter_for_given_tuples() -> None:
    model = model_of().eval()
    for seed, data in enumerate(molecules(5)):
        order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(seed))
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order))
        before, after = Graphs.of(data), Graphs.of(permuted(data, order))
        tuples = model.agent.first_tuples(before)
        with torch.no_grad():
            worth = model.agent.network(before, tuples)
            assert torch.allclose(model.agent.network(after, place[tuples]), worth[order], atol=1e-10)
            assert torch.allclose(model.predict(after, place[tuples]), model.predict(before, tuples), atol=1e-10)


def test_order_of_tuples_does_not_matter() -> None:
    model = model_of().eval()
    graphs = Graphs.of(batch_of(*molecules(5)))
    tuples = model.agent.first_tuples(graphs)
    with torch.no_grad():
        assert torch.allclose(model.predict(graphs, tuples.flip(0)), model.predict(graphs, tuples), atol=1e-10)
        worth = model.agent.network(graphs, tuples)
        assert torch.allclose(model.agent.network(graphs, tuples.flip(0)), worth.flip(1), atol=1e-10)


def test_first_tuples_are_uniform_and_inside_their_graph() -> None:
    model = model_of(tuples=2000, size=1).train()
    graphs = Graphs.of(batch_of(*molecules(3)))
    tuples = model.agent.first_tuples(graphs, torch.Generator().manual_seed(0))
    assert (tuples >= graphs.ptr[:-1]).all()
    assert (tuples < graphs.ptr[1:]).all()
    for graph, size in enumerate(graphs.sizes.tolist()):
        share = torch.bincount(tuples[:, 0, graph] - graphs.ptr[graph], minlength=size) / 2000
        assert (share - 1 / size).abs().max() < 0.05


def test_seeds_of_evaluation() -> None:
    graphs = Graphs.of(batch_of(*molecules(6)))
    first, same, other = (model_of(seed=0, **{}).eval(), model_of().eval(), model_of().eval())
    other.agent.seed = 1
    assert torch.equal(first.agent.first_tuples(graphs), same.agent.first_tuples(graphs))
    assert not torch.equal(first.agent.first_tuples(graphs), other.agent.first_tuples(graphs))
    single = first.agent.first_tuples(graphs)
    assert len({tuple(row) for row in single.flatten(0, 1).tolist()}) > 1  # places are drawn apart


def test_share_of_random_moves() -> None:
    model = model_of(random_until=10, explore_until=20, least_epsilon=0.02)
    found = []
    for steps in (0, 10, 15, 20, 1000):
        model.steps[1] = steps
        found.append(model.epsilon)
    assert found == pytest.approx([1.0, 1.0, 0.51, 0.02, 0.02])


def test_simultaneous_steps_take_turns_and_touch_their_own_weights() -> None:
    model, graphs = model_of(random_until=0, explore_until=1).train(), Graphs.of(batch_of(*molecules(6)))
    for turn in range(4):
        model.zero_grad()
        assert model.agent_is_next == bool(turn % 2)
        step(model, graphs, turn).loss.backward()
        moved = {name.split(".")[0] for name, weight in model.named_parameters() if weight.grad is not None}
        assert moved == {"agent" if turn % 2 else "predictor"}
    assert model.steps.tolist() == [2, 2]


def test_first_the_predictor_then_the_agent() -> None:
    model, graphs = model_of(regime="ord", predictor_steps=2).train(), Graphs.of(batch_of(*molecules(6)))
    turns = []
    for turn in range(4):
        turns.append(model.agent_is_next)
        step(model, graphs, turn)
    assert turns == [False, False, True, True]


def test_a_ready_agent_is_left_alone() -> None:
    model, graphs = model_of(regime="pre").train(), Graphs.of(batch_of(*molecules(6)))
    before = {name: value.clone() for name, value in model.agent.state_dict().items()}
    for turn in range(3):
        assert not model.agent_is_next
        step(model, graphs, turn).loss.backward()
    assert all(torch.equal(value, before[name]) for name, value in model.agent.state_dict().items())


def test_an_agents_step_leaves_the_predictor_as_it_is() -> None:
    model, graphs = model_of().train(), Graphs.of(batch_of(*molecules(6)))
    model.steps[0] = 1
    before = {name: value.clone() for name, value in model.predictor.state_dict().items()}
    step(model, graphs).loss.backward()
    assert all(torch.equal(value, before[name]) for name, value in model.predictor.state_dict().items())
    assert model.predictor.training


def test_the_target_network_follows_every_so_many_steps() -> None:
    model, graphs = model_of(target_every=2).train(), Graphs.of(batch_of(*molecules(6)))

    def equal() -> bool:
        pairs = zip(model.agent.network.parameters(), model.agent.target.parameters(), strict=True)
        return all(torch.equal(a, b) for a, b in pairs)

    with torch.no_grad():
        for weight in model.agent.network.parameters():
            weight.add_(0.1)
    states = []
    for turn in range(2):
        model.steps[0] = turn + 1
        step(model, graphs, turn)
        states.append(equal())
    assert states == [False, True]
    assert not any(weight.requires_grad for weight in model.agent.target.parameters())


def test_the_loss_is_that_of_q_learning() -> None:
    model, graphs = model_of(discount=0.5).eval(), Graphs.of(batch_of(*molecules(3)))
    tuples = model.agent.first_tuples(graphs)
    moves = model.agent.explore(graphs, model.agent.best_moves(graphs, tuples), 1.0, torch.Generator().manual_seed(1))
    reward = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    with torch.no_grad():
        now, after = model.agent.network(graphs, tuples), model.agent.target(graphs, moves.apply(tuples))
        errors = []
        for graph in range(3):
            best = after[graphs.ptr[graph] : graphs.ptr[graph + 1]].flatten(2).amax((0, 2))  # (m,)
            for one in range(len(tuples)):
                taken = now[moves.node[one, graph], one, moves.place[one, graph]]
                errors.append((taken - reward[graph] - 0.5 * best[one]) ** 2)
        got = model.agent.loss(graphs, tuples, moves, reward)
    assert torch.isclose(got, torch.stack(errors).mean())


@pytest.mark.parametrize("reward", ["error", "probability"])
def test_a_move_is_worth_what_it_takes_off_the_loss(reward: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, graphs = model_of(reward=reward, moves=1).train(), Graphs.of(batch_of(*molecules(4)))
    model.steps[0] = 1
    seen: list[Tensor] = []
    learn = model.agent.loss
    monkeypatch.setattr(model.agent, "loss", lambda g, t, m, r: (seen.append(r), learn(g, t, m, r))[1])
    chosen: list = []
    choose = model.agent.choose
    monkeypatch.setattr(model.agent, "choose", lambda *a, **k: chosen.append(choose(*a, **k)) or chosen[-1])
    done = step(model, graphs)
    (last, ((first, _),)) = chosen[0]
    y = torch.linspace(-1, 1, 4, dtype=torch.float64).unsqueeze(1)
    model.eval()
    with torch.no_grad():
        before, after = ((model.predict(graphs, one) - y).abs().squeeze(1) for one in (first, last))
    wanted = before - after if reward == "error" else (-after).exp() - (-before).exp()
    assert torch.allclose(seen[0], wanted)
    assert torch.allclose(done.costs, after)


def test_replay_gives_back_what_it_was_given() -> None:
    model, graphs = model_of().eval(), Graphs.of(batch_of(*molecules(3)))
    tuples = model.agent.first_tuples(graphs)
    moves = model.agent.best_moves(graphs, tuples)
    replay, reward = Replay(2), torch.tensor([1.0, 2.0, 3.0])
    replay.push(torch.tensor([7, 3, 9]), graphs, tuples, moves, reward)
    found, again, rewards = replay.sample(torch.tensor([7, 3, 9]), graphs, None)
    assert torch.equal(found, tuples)
    assert torch.equal(again.node, moves.node)
    assert torch.equal(again.place, moves.place)
    assert torch.equal(rewards, reward)
    for value in (4.0, 5.0):
        replay.push(torch.tensor([7, 3, 9]), graphs, tuples, moves, torch.full((3,), value))
    assert len(replay) == 6
    drawn = {replay.sample(torch.tensor([7, 3, 9]), graphs, None)[2][0].item() for _ in range(50)}
    assert drawn == {4.0, 5.0}  # the oldest is gone


def test_moves_of_known_graphs_are_learned_from_again() -> None:
    model = model_of(moves=1).train()
    batch = batch_of(*molecules(4))
    batch.index = torch.tensor([5, 2, 8, 1])
    graphs = Graphs.of(batch)
    model.steps[0] = 1
    step(model, graphs).loss.backward()
    assert model.replay is not None
    assert len(model.replay) == 4


def test_the_agent_learns_where_to_go() -> None:
    """Where only one node pays, the agent ends there; it starts nowhere in particular."""
    torch.manual_seed(0)
    model = model_of(tuples=1, size=1, moves=1, channels=16, discount=0.0).train()
    hub, star = 3, nx.empty_graph(6)  # not the lowest node, which would win between equals
    star.add_edges_from((hub, leaf) for leaf in range(6) if leaf != hub)
    graphs = Graphs.of(batch_of(*[data_of(star)] * 16))
    optimiser = torch.optim.Adam(model.agent.network.parameters(), lr=5e-3)
    generator = torch.Generator().manual_seed(0)
    for _ in range(200):
        tuples = model.agent.first_tuples(graphs, generator)
        moves = model.agent.explore(graphs, model.agent.best_moves(graphs, tuples), 0.8, generator)
        reward = (moves.node[0] - graphs.ptr[:-1] == hub).double()
        optimiser.zero_grad()
        model.agent.loss(graphs, tuples, moves, reward).backward()
        optimiser.step()
    end, _ = model.eval().agent.choose(graphs)
    assert (end[0, 0] - graphs.ptr[:-1] == hub).all()
