r"""Whole solutions with a truth, labelled by hand: is the final answer of the solution the truth?

In the styles of GSM8K, MATH, AIME and Chinese exams; about two in five are near misses (another factor, sign,
end of an interval, a missing member, an intermediate result). The last line of each is ``right: truth`` or
``wrong: truth``. `DEVELOPMENT` was looked at while `math_equal` was written; `HELD_OUT` was written and
labelled before any verdict on it was seen, and nothing was tuned to it.
"""

from __future__ import annotations

from typing import NamedTuple


class Labelled(NamedTuple):
    """A solution, the truth of its problem, and whether the solution's final answer is that."""

    solution: str
    truth: str
    right: bool


def _rows(text: str) -> list[Labelled]:
    blocks = [block.strip() for block in text.split("\n---\n")]
    lines = [block.rpartition("\n") for block in blocks]
    parted = [(solution, *last.partition(": ")) for solution, _, last in lines]
    return [
        Labelled(solution, truth, {"right": True, "wrong": False}[label])
        for solution, label, _, truth in parted
    ]


_DEVELOPMENT = r"""
Natalia sold 48/2 = <<48/2=24>>24 clips in May.
Natalia sold 48+24 = <<48+24=72>>72 clips altogether in April and May.
#### 72
right: 72
---
Weng earns 12/60 = $<<12/60=0.2>>0.2 per minute.
Working 50 minutes, she earned 0.2 x 50 = $<<0.2*50=10>>10.
#### 10
right: She earns 12/60 = $0.2 per minute. For 50 minutes that is 0.2 x 50 = $10. #### 10
---
In the beginning, Betty has only 100 / 2 = $50.
Betty's grandfather gave her 15 * 2 = $30.
This means Betty needs 100 - 50 - 30 - 15 = $5 more.
right: 5
---
Maila read 12 x 2 = 24 pages today. So she read 12 + 24 = 36 pages since yesterday. There are 120 - 36 = 84 pages left. She wants to read half of them, so she should read 84/2 = 42 pages tomorrow.
right: 42
---
Maila read 24 pages today and 36 pages in all. There are 120 - 36 = 84 pages left, and half of 84 is 42 pages.
wrong: 84
---
Each friend gets 3 letters of 2 pages, twice a week: 3 * 2 * 2 = 12 pages a week.
That is 12 * 52 = 624 pages a year.
**Answer: 624**
right: 624
---
The purple flowers are 80% more than the 10 yellow ones, so there are 18. Then 25% of 28 is 7 green flowers.
In total there are 10 + 18 + 7 = 35 flowers in the garden.
right: 35
---
The total cost of the house and the repairs is 80,000 + 50,000 = $130,000. The value rose by 150%, to 200,000. The profit is 200,000 - 130,000 = $70,000.
#### $70,000
right: 70000
---
The profit is 200,000 - 130,000 = $70,000.
#### $70,000
wrong: 7000
---
She sells 9 eggs a day at $2 each.
Therefore, she makes **$18** every day at the farmer's market.
right: 18
---
It takes 2/2 = 1 bolt of white fiber, so the total amount of fabric is 2 + 1 = 3 bolts.
The answer is 3.
wrong: 2
---
He runs 3 * 3 = 9 sprints a week, so 9 * 60 = 540 meters.
The answer is 540 meters.
right: 540
---
The discount is 20% of $45, which is $9. The final price is therefore $36.00.
right: 36
---
The price after the discount is $45 - $9 = $36. So the final answer is $36.
wrong: 9
---
Step 1: 5 days * 8 hours = 40 hours.
Step 2: 40 hours * $18.50 = $740.00
Final Answer: $740.00
right: 740
---
Half of the 1,500 tickets are sold, 750 are left, and a third of those is 250.
So 1,250 tickets would be wrong; the right number is 250.
wrong: 1250
---
He drives 60 mph for 2.5 hours: 60 * 2.5 = 150 miles. The answer is 150 miles.
right: 150 miles
---
Anna pays 3 * 4 = 12 dollars and gets 20 - 12 = 8 dollars back.
#### 8
wrong: -8
---
The share of girls is 18/40 = 0.45, so 45% of the class are girls.
right: 45\%
---
The share of girls is 18/40. So the answer is 45%.
wrong: 55\%
---
She needs 3 1/2 cups for one cake. For two cakes she needs 7 cups of flour.
right: 7
---
The bacteria double each hour, so there are 2^10 = 1024 of them after 10 hours.
The answer is 1,024.
right: 1024
---
Der Preis beträgt also 1.000,99 Euro.
#### 1.000,99
right: 1000.99
---
The population of the town is then 2.5 million people.
right: 2500000
---
After 4 months Ken has saved 4 * $150 = $600, and needs $400 more.
#### 600
wrong: 400
---
They have 13 apples and 8 pears; altogether there are 21 fruits in the basket.
wrong: 12
---
If each of the 6 boxes holds 24 cans, there are 6 × 24 = 144 cans. Removing 9 leaves 135.
#### 135 cans
right: 135
---
Tim is 5 years older than James, who is 11. Tim is 16 years old.
wrong: 11
---
We have $f(2) = 2^2 + 3\cdot 2 = 10$, so $f(f(2)) = f(10) = 130$. Thus the value is $\boxed{130}$.
right: 130
---
The sum of the roots is $-\frac{b}{a} = -\frac{7}{2}$, hence our answer is $\boxed{-\frac{7}{2}}$.
right: -3.5
---
The sum of the roots is $-\frac{b}{a}$, hence our answer is $\boxed{\frac{7}{2}}$.
wrong: -\frac{7}{2}
---
Factoring gives $(x-2)(x+5)=0$, so the solutions are $x=\boxed{2}$ and $x=\boxed{-5}$.
right: -5, 2
---
Factoring gives $(x-2)(x+5)=0$, so the solutions are $\boxed{2}$ and $\boxed{-5}$.
wrong: 2
---
The solutions are $\boxed{1}$, $\boxed{2}$, and $\boxed{3}$.
right: \{1, 2, 3\}
---
We need $x \ge 2$ and $x < 5$, so the domain is $\boxed{[2,5)}$.
right: [2, 5)
---
We need $x \ge 2$ and $x < 5$, so the domain is $\boxed{[2,5]}$.
wrong: [2, 5)
---
The matrix is \[\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}^{-1} = \boxed{\begin{pmatrix} -2 & 1 \\ 3/2 & -1/2 \end{pmatrix}}.\]
right: \begin{pmatrix} -2 & 1 \\ \frac{3}{2} & -\frac{1}{2} \end{pmatrix}
---
The product is $\boxed{\begin{pmatrix} 7 & 10 \\ 15 & 22 \end{pmatrix}}$.
wrong: \begin{pmatrix} 7 & 15 \\ 10 & 22 \end{pmatrix}
---
The largest $n$ is 34.
right: 34
---
The largest $n$ for which this works is $34$, since $n = 35$ fails.
right: 34
---
Solving for $x$, we find that
\[x = \frac{3 + \sqrt{5}}{2}.\]
right: \frac{3+\sqrt{5}}{2}
---
Solving for $x$, we find that
\[x = \frac{3 + \sqrt{5}}{2}.\]
wrong: \frac{3-\sqrt{5}}{2}
---
Thus $a = 3$, $b = -1$, and the line is $y = 3x - 1$.
right: y=3x-1
---
By the Pythagorean Theorem the hypotenuse is $\sqrt{6^2+8^2} = \sqrt{100} = 10$ cm. The answer is $\boxed{10\text{ cm}}$.
right: 10
---
Completing the square, $x^2+6x+1 = (x+3)^2-8$. The minimum value is $\boxed{-8}$.
wrong: -3
---
So the probability is $\frac{3}{36} = \boxed{\frac{1}{12}}$.
right: \frac{3}{36}
---
So the probability is $1 - \frac{1}{12} = \boxed{\frac{11}{12}}$.
wrong: \frac{1}{12}
---
The coordinates of the vertex are $\left(\frac{3}{2}, -\frac{1}{4}\right)$.
right: (1.5, -0.25)
---
The coordinates of the vertex are $\boxed{\left(-\frac{1}{4}, \frac{3}{2}\right)}$.
wrong: \left(\frac{3}{2}, -\frac{1}{4}\right)
---
Hence $\theta = 60^\circ$, and the final answer is $60^\circ$.
right: 60
---
Therefore, the polynomial is $p(x) = \boxed{x^2 - 5x + 6}$.
right: (x-2)(x-3)
---
The inequality holds for $x < -1$ or $x > 4$, i.e. $x \in \boxed{(-\infty,-1)\cup(4,\infty)}$.
right: (-\infty, -1) \cup (4, \infty)
---
The inequality holds for $x \in \boxed{(-\infty,-1]\cup[4,\infty)}$.
wrong: (-\infty, -1) \cup (4, \infty)
---
We get $\boxed{\frac{\pi}{4}}$ in the first case, but this is not positive enough. In the second we get $\boxed{\frac{\pi}{3}}$.
right: \frac{\pi}{3}
---
The answer is $2\sqrt{3}$.
wrong: 3\sqrt{2}
---
The total area is $12\pi$ square units, so the shaded region has area $6\pi$.
wrong: 12\pi
---
Let $N = abc$ be the number. From the condition $100a+10b+c = 11(a+b+c)$, we get $89a = b + 10c$, so $a=1$, $b=9$, $c=8$. Therefore the answer is $\boxed{198}$.
right: 198
---
The number of such sequences is $\binom{10}{4} = 210$, and the probability is $\frac{210}{1024} = \frac{105}{512}$, so $m+n = 105+512 = \boxed{617}$.
right: 617
---
The probability is $\frac{105}{512}$, so $m+n = 105+512 = 617$.
right: \boxed{617}
---
The probability is $\frac{m}{n} = \frac{105}{512}$. Thus $\boxed{\frac{105}{512}}$.
wrong: 617
---
So there are $9 \cdot 9 \cdot 8 = 648$ numbers, and mod $1000$ the answer is $\boxed{648}$.
wrong: 684
---
Summing, $S = 2^{10} - 1 = 1023$, and the remainder when $S$ is divided by $1000$ is $\boxed{023}$.
right: 23
---
Summing, $S = 2^{10} - 1 = 1023$, and the remainder when $S$ is divided by $1000$ is $23$.
wrong: 1023
---
We find $AB^2 = 73$ and $r = \frac{a\sqrt{b}}{c}$ with $a + b + c = 41$. **041**
right: 41
---
Adding the two cases gives $120 + 84 = \boxed{204}$ arrangements.

~ solver2
right: 204
---
The answer is $\boxed{\textbf{(C) } 15}$... more exactly, the final answer is $\boxed{015}$.
right: 15
---
Thus $x + y = 80$ and $x - y = 12$, so $x = 46$, $y = 34$ and $xy = 1564$. The last three digits are $\boxed{564}$.
wrong: 1564
---
Hence $\tan\theta = \frac{7}{24}$ and $p + q = 7 + 24 = \boxed{31}$.
wrong: 17
---
Let $O$ be the center. Then $OA = 5$ and the power of the point is $OA^2 - r^2 = 25 - 9 = 16$.
right: 16
---
Squaring both sides yields $x^4 - 10x^2 + 1 = 0$, whose positive roots are $\sqrt{3} \pm \sqrt{2}$. The final answer is $\boxed{\sqrt{3}+\sqrt{2}, \sqrt{3}-\sqrt{2}}$.
right: \sqrt{3}\pm\sqrt{2}
---
Squaring both sides gives the positive root $\boxed{\sqrt{3}+\sqrt{2}}$.
wrong: \sqrt{3}\pm\sqrt{2}
---
The smallest such integer is $n = 2 \cdot 3 \cdot 5 \cdot 7 = 210$. Therefore, $n = \boxed{210}$.
right: n=210
---
We compute $3^{2024} \equiv 81 \pmod{100}$. The last two digits are therefore $81$.
right: 81
---
We compute $\gcd(2^{12}-1, 2^{18}-1) = 2^6 - 1 = \boxed{63}$.
wrong: 64
---
The expected number of flips is
$$E = 2 + 4 + 8 = 14.$$
Hence the answer is $$\boxed{14}.$$
right: 14
---
The minimum is attained at $x = 4$ and equals $\boxed{-16}$.
wrong: 16
---
So the number of ways is $5! \cdot 2^5 = 3840$, and the final answer is

\[
\boxed{3840}
\]
right: 3,840
---
The ratio of the areas is $\frac{[ABC]}{[DEF]} = \frac{25}{16}$, so the requested sum is $41$.
right: 41
---
The ratio of the areas is $\frac{25}{16}$ and the requested sum is $25 + 16 = 41$.
wrong: 25
---
Cyclic shifts give the triples $(1,2,3)$, $(2,3,1)$ and $(3,1,2)$. There are thus $\boxed{3}$ of them.
wrong: (3,1,2)
---
If $n$ is odd there are no solutions, so only $n = 2, 4, 8$ remain. Their sum is $\boxed{14}$.
wrong: 8
---
By Vieta, $a_1 + a_2 + \dots + a_{10} = 55$ and the product of $a$ and $b$ is $-240$. So the answer is: $-240$
right: -240
---
By symmetry the answer is $\frac{1}{2}\cdot 2^{11} = 2^{10}$.
right: 1024
---
By symmetry the answer is $\frac{1}{2}\cdot 2^{11} = 2^{10}$.
wrong: 2^{11}
---
解：原式=3+4-2=5。
right: 5
---
因为 $a_1=2$，公差 $d=3$，所以 $a_{10}=2+9\times 3=29$。答案是29。
right: 29
---
因为 $a_1=2$，公差 $d=3$，所以 $a_{10}=2+9\times 3=29$。故答案为：$29$
wrong: 27
---
由题意得 $x^2-5x+6=0$，解得 $x=2$ 或 $x=3$。故选：B．
right: B
---
由题意得 $x^2-5x+6=0$，解得 $x=2$ 或 $x=3$。故选：B．
wrong: C
---
由余弦定理，$c^2=a^2+b^2-2ab\cos C=7$，所以 $c=\sqrt{7}$。
right: \sqrt{7}
---
由余弦定理，$c^2=a^2+b^2-2ab\cos C=7$，所以 $c=\sqrt{7}$。
wrong: 7
---
小明一共买了3×4=12个苹果，吃了5个，还剩12-5=7个。
答：还剩7个苹果。
right: 7
---
小明一共买了3×4=12个苹果，吃了5个，还剩7个。
答：还剩7个苹果。
wrong: 12
---
当 $x>0$ 时，函数 $f(x)=x+\frac{4}{x}\geq 4$，最小值为 $4$。因此，答案是 $\boxed{4}$。
right: 4
---
故不等式的解集为 $\{x \mid -1<x<3\}$，即 $(-1,3)$。
right: (-1,3)
---
故不等式的解集为 $(-1,3]$。
wrong: (-1,3)
---
【答案】$\frac{\sqrt{3}}{2}$
【解析】由正弦定理得 $\sin B=\frac{\sqrt{3}}{2}$，其中 $a=2$，$b=3$。
right: \frac{\sqrt{3}}{2}
---
圆锥的侧面积为 πrl=π×3×5=15π。
right: 15\pi
---
圆锥的侧面积为 πrl=π×3×5=15π。
wrong: 15
---
所以，这辆汽车每小时行驶80千米。
right: 80
---
总人数为50人，其中女生占40%，所以女生有20人。最终答案：20人
right: 20
---
总人数为50人，其中女生占40%，所以女生有20人。最终答案：20人
wrong: 40
---
因此概率为 $P=\frac{3}{10}$，答案为 0.3。
right: \frac{3}{10}
---
综上所述，$m$ 的取值范围是 $[1,+\infty)$。
right: [1,\infty)
---
综上所述，$m$ 的取值范围是 $m>1$。
wrong: m \ge 1
---
方程的解为 x=-2。
right: -2
---
方程的解为 x=-2。
wrong: 2
---
原价为200元，打八折后为160元，故便宜了40元。
right: 40
---
设直线方程为 $y=kx+b$，代入得 $k=2$，$b=-3$，故直线方程为 $y=2x-3$。
right: 2x-y-3=0
---
集合 $A\cap B=\{1,3\}$，故答案为 $\{1,3\}$。
wrong: \{1,3,5\}
---
第一问得 $a=1$；第二问得最大值为 5万元。
right: 50000
"""

_HELD_OUT = r"""
Ben bought 4 packs of 15 cards, so he has 4*15 = <<4*15=60>>60 cards.
He gave away 18, so he has 60-18 = <<60-18=42>>42 cards left.
#### 42
right: 42
---
Ben bought 4 packs of 15 cards, so he has 60 cards. He gave away 18.
#### 60
wrong: 42
---
The bakery sells 120 loaves a day, which is 840 loaves a week. At $3.50 each the bakery takes in 840 * 3.5 = $2,940 a week.
right: 2940
---
A week has 168 hours. Lia sleeps 56 of them, works 40 and travels 12. That leaves 168 - 56 - 40 - 12 = 60 hours.
right: 60 hours
---
Lia has 168 - 56 - 40 - 12 = 60 free hours. The answer is 60 hours.
wrong: 108
---
The tank holds 250 liters and is 3/5 full, so there are 150 liters in it.
**The answer is 150 liters.**
right: 150
---
The first train covers 3 * 80 = 240 km and the second 3 * 95 = 285 km. So they are 45 km apart.
right: 45
---
Sam earns 15 * 38 = $570 and spends $205.75. He keeps $364.25.
#### $364.25
right: 364.25
---
Sam earns $570 and keeps $364.25.
#### $364.25
wrong: 364
---
Let x be the number of goats. Then 4x + 2(30 - x) = 86, so x = 13.
Therefore there are 13 goats and 17 hens, and the answer is 13.
right: 13
---
Let x be the number of goats. Then x = 13 and there are 17 hens.
The answer is 17.
wrong: 13
---
Rosa uses 2 1/4 cups of sugar for one batch, so four batches need 9 cups.
Answer: 9 cups
right: 9
---
One ticket costs $12, and kids pay half, $6. The family pays 2 * 12 + 3 * 6 = 42 dollars.
The final answer is **42 dollars**.
right: 42
---
The family pays 24 + 18 = 42 dollars and gets 8 dollars of change from 50 dollars.
#### 42
wrong: 8
---
The company made 1.2 million dollars in profit this year.
right: 1,200,000
---
The salary rose from $2,000 to $2,300, an increase of 300/2000 = 15%.
right: 15\%
---
The salary rose from $2,000 to $2,300. So the answer is 15%.
wrong: 1.5\%
---
Insgesamt zahlt sie 2.450,50 Euro im Jahr.
#### 2.450,50
right: 2450.5
---
There are 3 dozen eggs, that is 36 eggs. 7 are broken and 29 eggs are good.
right: 29
---
There are 36 eggs, of which 7 are broken. So we have 29 good eggs.
wrong: 7
---
The ladder is 13 feet long and its foot 5 feet away, so it reaches 12 feet high.
#### 12 feet
right: 12
---
Eve is twice as old as Bo was 3 years ago. Bo is 9, so Eve is 2 * 6 = 12 years old now.
right: 12
---
Eve is twice as old as Bo, who is 9. So Eve is 18 years old.
wrong: 12
---
He needs 45 minutes for the first part and 1 hour 15 minutes for the second, so 120 minutes in all.
#### 120
right: 120
---
The rope is 50 cm long.
#### 50 cm
wrong: 50 m
---
The temperature fell from 4 degrees by 11 degrees.
The answer is -7 degrees.
right: -7
---
The temperature fell from 4 degrees by 11 degrees. The answer is 7 degrees.
wrong: -7
---
5 workers paint 15 rooms in 3 days, i.e. 1 room per worker and day. 8 workers paint 8 * 4 = 32 rooms in 4 days.
So the total is 32 rooms.
right: 32
---
Expanding, $(2x-3)^2 = 4x^2 - 12x + 9$. The answer is $\boxed{4x^2-12x+9}$.
right: (2x-3)^2
---
Expanding, we get $\boxed{4x^2-12x+6}$.
wrong: 4x^2-12x+9
---
Since $\log_2 32 = 5$ and $\log_3 27 = 3$, the expression equals $5 + 3 = \boxed{8}$.
right: 8
---
The two values of $k$ are $\boxed{4}$ and $\boxed{-4}$.
right: \pm 4
---
The two values of $k$ satisfy $k^2 = 16$, so $k = \boxed{4}$.
wrong: \pm 4
---
Therefore, the three integers are $\boxed{3}, \boxed{5}, \boxed{7}$.
right: 3, 5, 7
---
Therefore, the integers are $\boxed{3}, \boxed{5}, \boxed{7}$.
wrong: 3, 5
---
The range of $f$ is all real numbers greater than $-2$, that is, $\boxed{(-2, \infty)}$.
right: (-2,\infty)
---
The range of $f$ is $\boxed{[-2, \infty)}$.
wrong: (-2,\infty)
---
The slope is $\frac{5-1}{4-2} = 2$ and the line passes through $(2,1)$. Therefore the equation of the line is $y = 2x - 3$.
right: 2x - y = 3
---
The distance between the two points is
$$\sqrt{(5-1)^2 + (7-4)^2} = \sqrt{25} = 5.$$
right: 5
---
The distance between the two points is
$$d = \sqrt{(5-1)^2 + (7-4)^2}.$$
wrong: 25
---
We have $\mathbf{A}\mathbf{v} = \boxed{\begin{pmatrix} 4 \\ -1 \end{pmatrix}}$.
right: \begin{bmatrix} 4 \\ -1 \end{bmatrix}
---
We have $\mathbf{A}\mathbf{v} = \boxed{\begin{pmatrix} 4 \\ 1 \end{pmatrix}}$.
wrong: \begin{pmatrix} 4 \\ -1 \end{pmatrix}
---
The smallest positive integer $m$ with this property is 18.
right: 18
---
The measure of angle $BAC$ is $180^\circ - 2\cdot 72^\circ = 36^\circ$.
right: 36
---
The measure of angle $BAC$ is $36$ degrees, and so angle $ABC$ is $72$ degrees.
wrong: 36
---
Rationalizing the denominator, $\frac{6}{\sqrt{3}} = \frac{6\sqrt{3}}{3} = 2\sqrt{3}$.
right: \frac{6}{\sqrt{3}}
---
The foci are at $(\pm 5, 0)$, so the distance between the foci is $\boxed{10}$.
wrong: 5
---
There are $\binom{8}{3} = \boxed{56}$ ways to choose them.
right: 56
---
There are $\binom{8}{3} = \boxed{56}$ ways to choose them.
wrong: 336
---
The only ordered pair is $\boxed{(3,-2)}$.
right: (3, -2)
---
The final answer is: $\boxed{\dfrac{2}{3}}$. I hope it is correct.
right: 2/3
---
The sum of the series is $\frac{a}{1-r} = \frac{2}{1-\frac13} = 3$.
right: 3
---
Then $z = 1 - 2i$, so its conjugate is $\boxed{1+2i}$.
right: 2i+1
---
Then $z = 1 - 2i$, so its conjugate is $\boxed{1+2i}$.
wrong: 1-2i
---
The function is increasing on $(0, 2)$ and on $(3, \infty)$, so the answer is $(0,2) \cup (3,\infty)$.
right: (0,2)\cup(3,\infty)
---
So $x = \frac{-1 + \sqrt{13}}{2}$.
wrong: \frac{1+\sqrt{13}}{2}
---
Let $d$ be the common difference. Then $5a + 10d = 100$ and $a = 8$, so $d = 6$ and the tenth term is $8 + 9 \cdot 6 = \boxed{062}$.
right: 62
---
By inclusion-exclusion the count is $1000 - 333 - 200 + 66 = \boxed{533}$.
right: 533
---
By inclusion-exclusion the count is $1000 - 333 - 200 + 66 = \boxed{533}$.
wrong: 467
---
The area is $\frac{120\sqrt{3}}{7}$, so $a + b + c = 120 + 3 + 7 = \boxed{130}$.
right: 130
---
The area is $\frac{120\sqrt{3}}{7}$. Therefore the answer is $\boxed{\frac{120\sqrt{3}}{7}}$.
wrong: 130
---
Working modulo $7$, we get $2^{100} \equiv 2 \pmod 7$, and the remainder is $2$.
right: 2
---
We need $a^2 + b^2 = 2025$. The only solution in positive integers is $(27, 36)$, so $a + b = 63$. Our answer is $063$.
right: 63
---
We need $a^2 + b^2 = 2025$. The only solution in positive integers is $(27, 36)$, so $a + b = 63$. Our answer is $063$.
wrong: 36
---
Let $P(n)$ be the probability. Then $P(6) = \frac{13}{64}$ and $m + n = 13 + 64 = \textbf{77}$. The answer is $\boxed{77}$.

~MathLover
right: 77
---
The total is $4 \cdot 6! - 2 \cdot 5! = 2880 - 240 = 2640$, so the remainder upon division by $1000$ is $\boxed{640}$.
wrong: 2640
---
The total is $2880 - 240 = 2640$, so the remainder upon division by $1000$ is $640$.
right: 640
---
Since $\angle BOC = 2\angle A$, the circumradius is $\frac{65}{8}$, and $65 + 8 = \boxed{73}$.
wrong: 57
---
The final answer is \(\boxed{385}\).
right: 385
---
Thus \[ \frac{m}{n} = \frac{9}{14}, \] and \(m + n = 23\).
right: 23
---
Thus \[ \frac{m}{n} = \frac{9}{14}, \] and \(m + n = 23\).
wrong: \frac{9}{14}
---
The largest possible value is therefore $n = 12$. To check, $12^2 = 144 < 150$. So the answer is $12$.
right: 12
---
Using the identity, $\sin 20^\circ \sin 40^\circ \sin 80^\circ = \frac{\sqrt{3}}{8}$, so the desired quantity is $\boxed{\frac{\sqrt 3}{8}}$.
right: \frac{\sqrt{3}}{8}
---
Using the identity, the desired quantity is $\boxed{\frac{\sqrt 3}{4}}$.
wrong: \frac{\sqrt{3}}{8}
---
There are $7$ choices for the first digit and $6$ for the second. That yields $42$ codes in total.
right: 42
---
There are $7$ choices for the first digit and $6$ for the second. That yields $42$ codes in total.
wrong: 13
---
Hence $\lfloor 100x \rfloor = \boxed{314}$.
right: 314
---
Therefore $f(x) = x^3 - 3x + 1$ and $f(5) = 125 - 15 + 1 = \boxed{111}$.
wrong: 125
---
So the possible values of $n$ are $2$, $6$ and $10$. The answer is $\boxed{2,6,10}$.
right: 10, 6, 2
---
So the possible values of $n$ are $2$, $6$ and $10$. The answer is $\boxed{18}$.
wrong: 2, 6, 10
---
Each move changes the parity, so after $2025$ moves the sum is odd. The minimum is $\boxed{1}$.
wrong: 2025
---
The length of $AD$ is $\sqrt{57}$, and $AD^2 = 57$.
right: 57
---
Combining both cases, the number of colorings is $732$.
right: 732
---
So the answer is $2^{20} - 20 = 1048556$.
wrong: 1048576
---
解：∵ $a=3$，$b=4$，∴ $c=\sqrt{a^2+b^2}=5$。
right: 5
---
解：原式=2×(3-5)+7=3。
right: 3
---
解：原式=2×(3-5)+7=3。
wrong: 11
---
由已知可得 $f(x)$ 的周期为 $\pi$，故选：D．
right: D
---
由已知可得 $f(x)$ 的周期为 $\pi$，故选A．
wrong: D
---
设甲每天做 $x$ 个，则 $3x+2(x+5)=60$，解得 $x=10$。答：甲每天做10个零件。
right: 10
---
设甲每天做 $x$ 个，则 $x+5=15$，所以乙每天做15个零件。
wrong: 10
---
故答案为：$\frac{2\sqrt{5}}{5}$．
right: \frac{2}{\sqrt{5}}
---
故答案为：$\frac{2\sqrt{5}}{5}$．
wrong: \frac{\sqrt{5}}{5}
---
函数的定义域为 $\{x\mid x\neq 1\}$，值域为 $(0,+\infty)$。因此值域是 $(0,+\infty)$。
right: (0, \infty)
---
因此，函数的值域是 $[0,+\infty)$。
wrong: (0, \infty)
---
最终答案是：$\boxed{-12}$。
right: -12
---
最终答案是：$\boxed{12}$。
wrong: -12
---
长方体的体积为 V=6×4×2=48（立方厘米）。
right: 48
---
这本书一共有 1,250 页，小红已经看了500页，还剩750页没有看。
right: 750
---
这本书一共有 1,250 页，小红已经看了500页，还剩750页没有看。
wrong: 1250
---
向量 $\vec{a}+\vec{b}=(3,-1)$，所以答案是 $(3,-1)$。
right: (3,-1)
---
合格率为 95÷100×100%=95%。
right: 95\%
---
由韦达定理，$x_1+x_2=4$，$x_1x_2=-5$，从而 $x_1=5$，$x_2=-1$。所以方程的根是 $5$ 和 $-1$。
right: -1, 5
---
由韦达定理，$x_1+x_2=4$，$x_1x_2=-5$，从而方程的根是 $5$ 和 $-1$。
wrong: -1
---
因此，这个三角形的面积是 6√3 平方厘米。
right: 6\sqrt{3}
---
因此，这个三角形的面积是 6√3 平方厘米。
wrong: 6
---
【答案】8
【解析】每行有4个，共2行，4×2=8。
right: 8
---
地球到太阳的距离约为1.5亿千米，用科学记数法表示为 $1.5\times 10^8$ 千米。
right: 150000000
---
从A地到B地共用时 $\frac{240}{60}=4$ 小时。故本题答案为 $4$。
right: 4
---
从A地到B地共用时 $\frac{240}{60}=4$ 小时。故本题答案为 $4$。
wrong: 240
---
综上，实数 $a$ 的取值范围为 $a\le -2$ 或 $a\ge 2$，即 $(-\infty,-2]\cup[2,+\infty)$。
right: (-\infty,-2]\cup[2,\infty)
"""

DEVELOPMENT = _rows(_DEVELOPMENT)
HELD_OUT = _rows(_HELD_OUT)
