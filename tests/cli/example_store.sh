# Makes the store in which the examples of the help run: ROOM/store, and beside it what they read from elsewhere.
# It is called with the room, and with the file of memories whose ids the examples name.
set -eu
room=$1 memories=$2
mkdir -p "$room"
cd "$room"
memkit init store
cd store
memkit config set user ada
memkit memory import "$memories" --restore --user ada
memkit consent grant
memkit core set human "Name: Ada."
memkit core set human "Name: Ada. Lives in Zurich."
memkit chat --session trip -p "I like window seats"
memkit memory search "what does Ada drink"

cat > skills/greet.yaml <<'END'
name: greet
description: Greets a guest by name.
when_to_use: [A guest has arrived.]
steps:
  - Call outbox with message="Welcome, {name}" to={name}
required_tools: [outbox]
checks:
  - {name: the outbox is free, call: {tool: outbox}, expect: allow}
END
sed 's/greet/farewell/; s/Greets/Sees off/' skills/greet.yaml > skills/farewell.yaml
memkit trust --yes
memkit skill commit greet
memkit skill commit farewell
sed -i 's/Sees off a guest/Sees a guest off/' skills/farewell.yaml
memkit skill commit farewell

memkit policy new quiet_hours
memkit policy commit quiet_hours
sed -i 's/^description: .*/description: Keep the evenings quiet./' policies/quiet_hours.yaml
memkit policy commit quiet_hours
memkit policy new no_mail
sed -i 's/example-program/sendmail/g' policies/no_mail.yaml

cat > domains/parcels.yaml <<'END'
name: parcels
types: {place: object, parcel: object}
predicates: {at: [place], has: [parcel], delivered: [parcel]}
operators:
  - {name: go, parameters: "?from ?to - place", preconditions: ["at ?from"], add: ["at ?to"], remove: ["at ?from"]}
  - {name: hand_over, parameters: "?p - parcel", preconditions: ["has ?p"], add: ["delivered ?p"], remove: ["has ?p"]}
tasks:
  carry: {parameters: "?p - parcel ?to - place", effects: ["delivered ?p", "at ?to"]}
methods: []
objects: {home: place, shop: place, book: parcel}
state: [at home, has book]
END
memkit domain commit parcels
sed -i 's/^name: parcels/&\ndescription: Carry parcels./' domains/parcels.yaml
memkit domain commit parcels
cat > ../proposals.yaml <<'END'
- {tool: propose_subtasks, args: {subtasks: ["go home shop", "hand_over book"]}}
END
memkit plan carry book shop --domain parcels --provider scripted:../proposals.yaml
memkit domain new garden
memkit skill run greet --arg name=Bob --session visit
memkit plan deliver book shop --domain errands --run --manual done
sed -i 's/by name/by their name/' skills/greet.yaml

cd ..
mkdir site
echo Hello > site/README.md
cat > others.jsonl <<'END'
{"text": "Ada plays the cello", "user_id": "ada"}
END
cat > problem.yaml <<'END'
objects: {home: place, shop: place, book: parcel}
state: [at home, has book]
tasks: [deliver book shop]
END
printf 'go home shop\nhand_over book\n' > plan.txt
echo 'lambda x: x * 2' > guess.py
cat > target.py <<'END'
import importlib.util


def evaluate(path):
    spec = importlib.util.spec_from_file_location("guess", path)
    guess = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(guess)
    return {"combined_score": -sum((guess.program(x) - (x * x + 1)) ** 2 for x in range(-5, 6))}
END
(cd store && memkit evolve ../guess.py --evaluator ../target.py --generations 2 --population 6 --out ../runs/guess)
(cd store && memkit evolve ../guess.py --evaluator ../target.py --generations 2 --population 6)
mkdir others-skill
cat > others-skill/SKILL.md <<'END'
---
name: make-tea
description: Makes a cup of tea. Use when somebody is thirsty.
---

# Make tea

1. Boil water.
2. Pour it over the leaves.
END
cat > calls.jsonl <<'END'
{"tool": "bash", "args": {"command": "ls"}, "expect": "allow"}
{"tool": "bash", "args": {"command": "rm -rf /"}, "expect": ["deny", "ask"]}
END
cat > talks.jsonl <<'END'
{"turn": "I adopted two cats", "id": "t1", "session": "s1", "speaker": "Ann", "at": "2026-03-14"}
{"turn": "The tram was late again", "id": "t2", "session": "s1", "speaker": "Ben", "at": "2026-03-14"}
{"turn": "I planted tomatoes", "id": "t3", "session": "s2", "speaker": "Ann", "at": "2026-04-02"}
{"question": "What did Ann adopt in March?", "evidence": ["t1"], "type": "date", "at": "2026-11-21"}
END
cat > questions.jsonl <<'END'
{"question": "Does Ada prefer espresso?", "user": "ada", "expect": ["prefers espresso"]}
END
echo '- {text: Hello}' > answers.yaml
echo 'a long sentence' > passphrase
(cd store && memkit config set privacy.seal user && memkit memory add "Ada plays chess" --user ada)
(cd store && memkit config unset privacy.seal)
(cd store && memkit key export ../kept.bin --passphrase-file ../passphrase)
(cd store && memkit gen --target react --out ../agent)
(cd store && memkit token new --user ada --json > ../token.json)
(cd store && memkit commit)
