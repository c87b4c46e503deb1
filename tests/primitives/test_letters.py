"""Multiple choice: which option a text names, and whether two texts name the same."""

import pytest

from rewardkit.primitives.extract.letters import choice
from rewardkit.primitives.verify import choice_equal

# A line a kind: what is named (- is nothing), then texts with | between them; most of it found by a stranger.
NAMED = r"""
B  B|\nB) Paris|B) paris|So ​B.|The answer is B, A and C are wrong.|B. A and C are too small.
B  B) vitamin C|B instead of C or D|It's B.|It’s B.|B because it is larger|Answer: B (Paris)|\text{B}
B  A) 1\nB) 2\nC) 3\nD) 4\n\nB|A) 1 B) 2 C) 3 D) 4\nThe answer is B|(A) is larger. <answer> B </answer>
B  answer is B, not (A)|(A) Rome. B is the correct answer.|(B) is larger. So A.
B  The answer is B. No other option fits.|The answer is B, no doubt.|The answer is B. No. 2 is odd.
B  The answer is B. That is correct.|The answer is B. That is not wrong.
B  The answer is B. It is wrong to say A.|The answer is A. No, it's B.
B  The answer is A. Hmm, no, that's wrong. It's B.
B  正确答案：A。不对，应该是B|A is wrong. B is right|A is the wrong answer\nB is right
B  The answer is not A but B.
B  特别是B。|不得不选B|不选A选B|B，不对称|答案可能是B。|【答案】B|【答案】：B|选项B正确
B  ✅ B|B ✅|A ❌\nB ✅\nC ❌|A ❌ B ✅|❌ A\n✅ B|[x] B|[ ] A\n[x] B\n[ ] C|~~A~~ **B**
B  A) Rome ❌\nB) Paris ✅|The answer is (B) Rome, and (A) is too small.|The answer is B (A is too small)
A  A is right|A since it is larger|I'd go with A as it is larger|A rather than B
A  The answer is A. The wrong answer is B.|A) Paris ✅\nB) Rome ❌|A没有错，选A
C  (A) 1\n(B) 2\n(C) 3|$C$
D  A) 1 B) 2 C) 3 Answer: D) 4|(A) no. (B) big. (C) old. (D) is correct.|(A) no (B) no (C) no (D)
-  A dog|Plan B is the right answer|B.C. is a time|ABCD|E|A or B|either A or B|A或B|Option: b
-  not B|I don't think it's B|The answer can't be option B.|B is not the answer.|B, however, is wrong.
-  B is clearly the wrong option|~~B~~|≠ B|不是B|The wrong answer is B|Incorrect answer: B|A) Paris ❌
-  The incorrect option is B|B, which is wrong|The worst answer is B|It is false that the answer is B
-  It is wrong to say that B is right|Nobody would choose B|Some say the answer is B, but that is wrong
-  The answer is B. That is incorrect.|The answer is B. No.|The answer is B. Hmm, no, that's wrong.
-  The answer is B. That isn't right.|答案是B。不对。|The answer is A. No, the answer is not A.
-  The answer is B. B is wrong. The answer is not B.|不能选B|不应该选B|别选B|没有选B|没有人会选B|无法选B
-  不可能是B|不会是B|未必是B|答案不太可能是B|答案可能是A，也可能是B|\boxed{\text{A} or \text{B}}
-  <answer>A B</answer>|Answer: A C|Answer: A B C|Answer: A (or C)|Answer: A (possibly C)|Answer: A or None
-  The answer is (A)(B)|The answer is A) Rome and B) Oslo|\boxed{A}\text{ and }\boxed{B}|So B. Hmm, A or B.
-  A) 1 B) 2 C) 3 D) 4|(A) 1\n(B) 2\n(C) 3\n(D) 4|A. 1\nB. 2\nC. 3\nD. 4|(A), (B), (C), (D)
-  If the answer is B then so be it|$B$ is a matrix|A small one is larger|x</answer>B.
-  The answer is C++.|The answer is C#.|The answer is B-cells|Vitamin C is correct.
"""
ROWS = [
    (text.replace(r"\n", "\n"), line[0])
    for line in NAMED.strip().splitlines()
    for text in line[3:].split("|")
]


@pytest.mark.parametrize(
    ("completion", "expected"), [*ROWS, ("Answer: A | C", "-")], ids=ascii
)
def test_the_option_that_a_text_names_is_found_and_a_denial_a_hedge_or_a_list_leaves_none(
    completion, expected
):
    assert choice()(completion) == (None if expected == "-" else expected)
    assert (choice_equal(completion, "B") is True) <= (
        expected == "B" or completion == "Option: b"
    )
