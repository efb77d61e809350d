"""Panels that are drawn from a seed."""

from a2a_trust.jury import personas


def test_the_same_seed_draws_the_same_panel() -> None:
    """A panel is a function of its seed alone; these names would change if it were not."""
    assert personas.draw(7, 12) == personas.draw(7, 12)
    assert [persona.name for persona in personas.draw(7, 3)] == PINNED


def test_a_smaller_panel_is_the_beginning_of_a_larger_one() -> None:
    """Asking for more jurors changes nobody."""
    assert personas.draw(3, 12)[:4] == personas.draw(3, 4)


def test_no_two_jurors_of_a_panel_share_a_name_or_a_persona() -> None:
    """So that each can be told from the others."""
    for seed in range(200):
        panel = personas.draw(seed, 12)
        assert len({name for persona in panel for name in persona.name.split()}) == 24
        assert len({persona.text for persona in panel}) == 12


def test_seeds_draw_different_panels() -> None:
    """A seed that changes nothing would be none."""
    assert len({tuple(p.text for p in personas.draw(seed, 6)) for seed in range(50)}) == 50


PINNED = ["Dilnoza Ivarsson", "Edda Nwosu", "Farid Szabo"]
