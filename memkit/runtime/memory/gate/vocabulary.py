"""The words that plain clauses are made of, by kind: whom and what people tell of, and what they say of it.

Each is a pattern for one of some words. What is often said as a figure of speech (a zoo, a nightmare, hell) is in none.
"""

from __future__ import annotations


def any_of(words: str) -> str:
    """Return a pattern for one of some words, in which a line stands for a blank.

    >>> any_of("nuts tree_nuts")
    '(?:nuts|tree nuts)'
    """
    return f"(?:{'|'.join(words.split())})".replace("_", " ")


UP = "[A-ZÀ-ÖØ-ÞČĆŁŚŠŽ]"
PROPER = rf"i?{UP}[\w'&.+#-]*\w\+{{0,2}}|{UP}\.?"
NAME = rf"(?:{PROPER})(?: (?:(?:de|da|do|del|la|van|von|der|di|of|am|upon) )*(?:{PROPER})){{0,3}}"
NAMES = rf"[\"“]?{NAME}[\"”]?(?:(?:, {NAME}){{0,4}},? and {NAME})?"
CITY = rf"(?:the )?{NAME}(?:, {NAME})?"
PLACE = rf"(?!\w+day\b)(?P<v>{CITY})"
PRODUCT = rf"{NAME}(?: \d[\w.]*)?"
MONTH = any_of("January February March April May June July August September October November December")
DATE = (
    rf"(?:(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}|{MONTH} \d{{1,2}}(?:st|nd|rd|th)?|\d{{4}}-\d\d-\d\d)"
    r"(?:,? \d{4})?"
)
COUNT = any_of("a an one two three four five six seven") + r"|\d{1,2}"
KIN = any_of(
    """mother father mum mom dad sister brother son daughter wife husband partner girlfriend boyfriend fiancé fiancée
    grandmother grandfather grandma grandpa aunt uncle cousin niece nephew friend neighbour neighbor boss manager
    colleague flatmate roommate landlord teacher doctor dentist landlady ex-husband ex-wife  housemate fiance
    fiancee husband-to-be"""
)
PET = any_of(
    """dog cat puppy kitten horse rabbit hamster parrot tortoise turtle fish bird budgie guinea_pig pony gerbil
    goldfish cockatoo canary ferret"""
)
FAMILY = rf"{KIN}|{PET}|child|children|kids|(?:sister|brother|son|daughter|cousin|{PET})s|(?:pupp|pon)ies"
TRADES = """
    teacher nurse doctor dentist lawyer plumber electrician carpenter engineer pilot surgeon baker butcher farmer
    programmer developer architect accountant chef cook waiter waitress driver journalist librarian pharmacist
    physicist chemist biologist veterinarian vet hairdresser firefighter gardener translator judge mechanic
    photographer postman policeman policewoman secretary tailor student intern
    """
"""What somebody is for a living; of these, one."""
OCCUPATION = (
    r"(?:(?:senior|junior|retired|freelance|primary|school|software|data|civil|mechanical|electrical|web|graphic|"
    r"product|project|paediatric|research|head|taxi|truck|bus|train|family|maths?|music|history|science|police|"
    r"PhD|medical|night|part-time) ){0,2}"
    + any_of(
        f"""{TRADES}
        designer barista editor writer interpreter professor therapist paramedic manager consultant analyst
        administrator actor painter midwife sailor tester clerk officer tutor beekeeper astronomer"""
    )
)
FIELD = any_of(
    """finance marketing healthcare logistics publishing insurance law sales software IT HR tech research
    accounting shipping media television film music theatre customer_service human_resources procurement
    public_health robotics property dispatch payroll"""
)
DIET = any_of(
    """vegan vegetarian coeliac celiac diabetic left-handed right-handed colour-blind color-blind dyslexic
    lactose_intolerant deaf blind"""
)
ALLERGEN = any_of(
    """nuts peanuts almonds walnuts cashews shellfish seafood fish milk dairy lactose eggs soy wheat gluten
    penicillin ibuprofen cats dogs latex dust bees sesame celery mushrooms tomatoes perfume grass horses rabbits
    guinea_pigs peanut walnut bananas garlic cinnamon"""
)
NATIONS = """
    German French Spanish Italian English British American Canadian Mexican Brazilian Portuguese Dutch Belgian Swiss
    Austrian Polish Czech Danish Swedish Norwegian Finnish Russian Ukrainian Turkish Greek Irish Scottish Welsh
    Indian Chinese Japanese Korean Vietnamese Thai Australian Nigerian Kenyan Egyptian Argentinian Chilean Colombian
    Syrian Iraqi Iranian Lebanese Palestinian Israeli Jordanian Moroccan Algerian Tunisian Libyan Sudanese Ethiopian
    Eritrean Somali Ugandan Tanzanian Rwandan Congolese Ghanaian Senegalese Cameroonian Ivorian South_African
    Zimbabwean Zambian Pakistani Bangladeshi Sri_Lankan Nepali Afghan Uzbek Kazakh Georgian Armenian Azerbaijani
    Mongolian Filipino Filipina Indonesian Malaysian Singaporean Taiwanese Peruvian Bolivian Ecuadorian Venezuelan
    Uruguayan Paraguayan Cuban Jamaican Dominican Haitian Guatemalan Honduran Icelandic Estonian Latvian Lithuanian
    Belarusian Slovak Slovenian Croatian Serbian Bosnian Macedonian Albanian Kosovar Montenegrin Bulgarian Romanian
    Moldovan Hungarian Maltese Cypriot Luxembourgish Catalan Basque
    """
NATION = any_of(NATIONS)
LANGUAGE = rf"(?:{NATION}|" + any_of(
    """Arabic Mandarin Cantonese Hindi Urdu Hebrew Persian Farsi Swahili Tamil Bengali Punjabi Tagalog Malay Yoruba
    Amharic Zulu Afrikaans Esperanto Latin sign_language Cyrillic Braille Gaelic Scottish_Gaelic Breton Galician
    Faroese Sámi Yiddish Kurdish Pashto Dari Sinhala Khmer Lao Burmese Tibetan Twi Igbo Hausa Tigrinya Xhosa
    Quechua Guaraní Maori Hawaiian ancient_Greek British_Sign_Language BSL ASL Mandarin_Chinese Swiss_German
    Wolof"""
) + ")"  # fmt: skip
COLOUR = any_of("red orange yellow green blue purple violet pink brown black white grey gray turquoise")
HOBBY = any_of(
    """hiking swimming reading cooking running dancing singing skiing sailing climbing baking fishing camping
    travelling photography drawing pottery walking bookbinding coding programming"""
)
OWN = any_of(
    """time_zone timezone pronouns car laptop phone bike computer camera editor bank employer city home_town team
    school university native_language mother_tongue blood_type shoe_size boss manager landlord doctor dentist
    wife husband partner sister brother girlfriend boyfriend operating_system"""
)

NUMBER = any_of(
    """a an one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety half_an"""
)
TENS = any_of("twenty thirty forty fifty sixty seventy eighty ninety")
NUMBER = rf"(?:{TENS}-(?:one|two|three|four|five|six|seven|eight|nine)|{NUMBER})"
AGE = rf"(?:1[01]\d|\d\d?|{NUMBER})"
NUMBER = rf"(?:\d{{1,3}}(?:[.,]\d{{1,3}})?|{NUMBER})"
RELATIVE = rf"(?:{KIN}|" + any_of(
    """stepson stepdaughter stepfather stepmother stepbrother stepsister half-brother half-sister godson goddaughter
    granddaughter grandson mother-in-law father-in-law sister-in-law brother-in-law godmother godfather tutor coach
    therapist accountant lawyer trainer supervisor nanny childminder spouse great-aunt great-uncle team_lead
    son-in-law daughter-in-law stepmum stepdad stepmom foster_son foster_daughter business_partner housemate granny
    granddad grandad nan auntie godchild great-grandmother great-grandfather line_manager head_of_department
    co-founder apprentice mentor assistant penfriend pen_pal"""
) + ")"  # fmt: skip
RELATIVES = any_of(
    """parents grandparents in-laws kids children twins daughters sons brothers sisters siblings cousins grandchildren
    stepchildren parents-in-law nephews nieces uncles aunts grandsons granddaughters foster_children flatmates
    housemates neighbours neighbors friends godchildren grandkids boys girls colleagues"""
)
ANIMALS = rf"(?:{PET}|" + any_of(
    """hens chicken chickens goats sheep bees snake cats dogs horses rabbits fish guinea_pigs ponies kittens
    puppies greyhound labrador poodle dachshund beagle husky ferret ferrets mice canary canaries pigs pig cow
    goldfish"""
) + ")"  # fmt: skip
PERSONAL = any_of(
    """older younger eldest oldest youngest little big twin best old other new late first second third foster
    adopted half middle grown-up closest former"""
)
STANDING = any_of(
    """retired self-employed part-time full-time former trainee assistant freelance professional volunteer senior
    deputy head lead registered licensed independent"""
)
JOB = rf"(?:{STANDING} )?(?:{OCCUPATION}|" + any_of(
    """beekeeper bricklayer roofer potter judge notary anaesthetist paediatrician flight_attendant translator
    illustrator composer conductor cellist drummer goldsmith diver headteacher primary_school_teacher
    product_manager software_engineer PhD_student freelancer bus_driver miner tram_driver courier cleaner porter
    warden customs_officer sailor pilot actor puppeteer vet_nurse dog_trainer dental_hygienist GP estate_agent
    auditor proofreader publisher playwright backend_developer data_engineer travel_agent fishmonger
    maths_teacher piano_teacher professor docker midwife detective"""
) + (
    r"|(?:[a-z]+ )?[a-z]+(?:ologist|ographer|otherapist|physicist|chemist)|(?!bad|good|great|real|"
    r"rocket)[a-z]+ (?:engineer|"
    r"officer|assistant|nurse|teacher|technician|designer|developer|instructor|researcher|coordinator|administrator|"
    r"analyst|inspector|hygienist|therapist|scientist))"
)  # fmt: skip
WORKPLACE = any_of(
    """hospital clinic school university library museum theatre bank bakery restaurant café cafe bookshop pharmacy
    lab factory farm hotel kindergarten nursery office studio archive vineyard garage workshop start-up startup
    shop shelter charity warehouse airport law_firm food_bank animal_shelter secondary_school primary_school
    grammar_school language_school bilingual_kindergarten post_office tax_office bike_shop town_library hospice
    dairy mill port harbour mine depot railway station court embassy children's_hospital canteen pub bar
    orchestra agency shipping_company logistics_company petrol_station gym aquarium guest_house medical_school
    foundation church parish observatory pottery_studio fintech"""
)
SUCH = any_of("""small large big local public private little tiny state children's university family old new""")
WHICH = rf"(?:{SUCH} )?"
A_WORKPLACE = rf"(?:(?:an?|the|our|my) {WHICH}{WORKPLACE}|(?:the )?{NAME})"
DWELLING = any_of(
    """flat house cottage farm houseboat village town studio caravan boat city duplex mill old_mill cabin hamlet
    two-room_flat"""
)
ESTATE = any_of(
    """farm house cottage flat garden allotment vineyard cabin balcony summer_house shop bakery café restaurant
    boat greenhouse caravan garage terrace holiday_cottage beach_house field pottery workshop studio pub
    guest_house hotel pool shed stable sailing_boat canoe kayak houseboat bookshop bike_shop food_truck nursery"""
)
VEHICLE = any_of(
    """car van lorry bike bicycle scooter caravan cargo_bike truck pickup estate hybrid Vespa tandem road_bike
    electric_car motorcycle"""
)
DEVICE = any_of(
    """laptop phone tablet computer desktop monitor keyboard camera printer e-reader router watch smartwatch TV
    editor browser IDE terminal shell password_manager bank bike car guitar piano"""
)
LOOK = any_of(
    """old new small big electric red blue green black white silver second-hand used folding tiny rusty yellow
    orange grey purple pink brown sunny little cheap lovely nice great quiet large wooden stone brick"""
)
ILLNESS = (
    "(?:"
    + any_of(
        """asthma diabetes migraines ADHD coeliac_disease type_1_diabetes glaucoma a_bad_back a_bad_knee hearing_aids
    braces MS a_heart_murmur a_new_hip colour_blindness a_peanut_allergy back_pain back_problems hives"""
    )
    + (
        r"|(?:(?:mild|severe|chronic) )?[a-z]+(?:itis|osis|aemia|emia|algia|opathy|phobia)|"
        r"(?:(?:an?|mild|severe|chronic) )?(?:[a-z]+['’]?s? )?(?:disease|syndrome|intolerance))"
    )
)
FOOD = any_of(
    """meat fish pork beef chicken seafood shellfish dairy milk cheese eggs nuts peanuts gluten wheat bread sugar
    salt mushrooms garlic tomatoes olives coriander cilantro celery spinach beans lentils tofu soy pasta
    potatoes fruit vegetables chocolate breakfast lunch dinner honey butter wet_food dry_food oat_milk sushi
    soup bananas pineapple liver oysters aubergine leeks carrots dates mango almonds walnuts pistachios cashews
    sesame rye_bread sourdough dumplings pizza cream bacon turkey tuna salmon herring cod octopus liquorice
    marzipan vinegar pickles mint cinnamon"""
)
DRINK = any_of(
    """coffee tea alcohol beer wine milk juice soda water gin green_tea black_tea oat_milk tap_water decaf espresso
    red_wine rum port cocoa mate kombucha buttermilk filter_coffee caffeine"""
)
TRAIT = any_of(
    """vegan vegetarian vegetarians coeliac celiac diabetic left-handed right-handed colour-blind color-blind
    colourblind colour_blind dyslexic lactose_intolerant deaf blind married divorced single retired
    self-employed bilingual an_only_child a_morning_person a_night_owl an_early_bird a_vegetarian a_twin
    hard_of_hearing autistic Muslim sober childless red-green_colour-blind straight adopted a_widow a_widower
    a_beginner a_cat_person a_good_cook tall unemployed engaged dairy_intolerant stateless"""
)
SPECIAL_DIET = any_of("gluten-free vegan vegetarian kosher diabetic")
FEAR = any_of(
    """heights dogs flying needles thunder clowns water bees mice lifts the_dark horses blood lightning fire
    the_sea cats bridges injections storms fireworks the_vet strangers ghosts open_water"""
)
SKILL = any_of(
    """drive swim ski sew cook ride_a_bike sail juggle play_chess whistle dance sing read_Cyrillic surf draw paint
    bake_bread program code"""
)
EXERCISE = any_of(
    """running swimming climbing hiking dancing skiing skating sailing fishing to_the_gym for_a_run walking
    to_the_library to_the_allotment"""
)
MUSIC = any_of(
    """piano guitar violin cello trumpet clarinet bass harp chess tennis football rugby bridge go squash alto oboe
    bassoon accordion ukulele banjo organ keyboards handball curling board_games fiddle tabla tuba xylophone
    bowls pool Go five-a-side role-playing_games"""
)
GROUP = any_of("""choir band orchestra wind_band church_choir youth_orchestra team club cover_band handball_team""")
CLUB = any_of(
    """climbing chess tennis football running book sailing hiking photography alpine swimming ski judo gliding
    yacht salsa bridge rugby film history writing poetry walking"""
)
COLLECTED = any_of(
    """stamps coins records maps books watches shells teapots board_games fountain_pens old_maps old_radios
    keyrings masks hats badges pins posters prints clocks barometers yarn"""
)
HOLIDAY = any_of("Christmas Hanukkah Diwali Easter Lent")
LOVED = any_of(
    """long_walks train_rides long_train_rides board_games jazz opera science_fiction poetry trains cats dogs
    animals rainy_days cold_weather the_mountains the_sea winter autumn musicals ballet"""
)
SUBJECT = "(?:" + any_of(
    """physics maths math biology chemistry medicine law history linguistics engineering music art architecture
    nursing literature English German French Spanish Latin Greek statistics business accounting marine_biology
    PE robotics pharmacy veterinary_medicine geology yoga swimming pottery drawing piano violin guitar singing
    IT urban_planning photography film theatre acting dance composition jazz classics Arabic Chinese Russian
    Italian Portuguese Dutch public_health finance marketing logistics"""
) + r"|[a-z]+(?:ology|ography|onomics|omics|istics|ometry))"  # fmt: skip
DEGREE = any_of("PhD doctorate degree master's master's_degree BA MA")
ROOM = any_of("""kitchen bathroom garden balcony cellar attic garage living_room flat house office building car""")
FITTED = any_of(
    """an_induction_hob a_balcony a_garden no_lift no_dishwasher a_lift a_garage a_piano a_pool two_doors
    winter_tyres"""
)
OWN_PLACE = any_of(
    """office gym school university studio flat house shop dentist doctor parish allotment new_office new_flat
    practice stable bank desk meeting_room pharmacy post_office nursery headquarters warehouse lab"""
)
NAMED = any_of(
    """project team company band boat wifi start-up startup shop café bakery blog podcast choir club app product
    newsletter server street village cottage model school charity game studio channel"""
)
TOLD_BY_NAME = any_of(
    """manager boss doctor dentist landlord accountant lawyer therapist tutor coach supervisor team_lead GP vet
    neighbour cleaner plumber paediatrician physio midwife thesis_supervisor surgeon piano_teacher maths_teacher
    best_friend product_owner estate_agent first_name surname"""
)
FAVOURITE = any_of(
    """colour color author writer band composer painter film director city country food dish drink season animal
    book novel sport subject game series museum restaurant tea fruit tree word cheese beer wine coffee breakfast
    cake flavour meal soup place beach mountain river island holiday month day number letter song album opera
    play actor podcast team player driver bird stone perfume font programming_language language"""
)
VALUED = any_of(
    """teal navy indigo red orange yellow green blue purple violet pink brown black white grey spring summer autumn
    winter lasagne pizza dumplings sushi chocolate coffee tea wine mango cats dogs chess rugby football tennis
    tulips gold silver olive Friday Sunday October November raspberry cinnamon roses oak the_oak swallows wolves
    hedgehogs penguins swimming handball"""
)

DAYS = any_of("Monday Tuesday Wednesday Thursday Friday Saturday Sunday weekend")
TIME_OF_DAY = (
    rf"(?:{NUMBER}(?: (?:thirty|fifteen|forty-five))?|half past {NUMBER}|quarter (?:to|past) {NUMBER}|\d\d?[:.]\d\d|"
    r"noon|midnight|dawn)(?: ?(?:am|pm|a\.m|p\.m|o'clock))?"
)
WHEN = (
    rf"(?:every (?:other )?(?:day|week|month|year|morning|evening|night|summer|winter|spring|autumn|{DAYS})|"
    rf"on (?:{DAYS}s|{DAYS} (?:morning|evening|afternoon|night)s|weekdays)(?: and {DAYS}s)?|at (?:the )?weekends?|"
    rf"(?:once|twice|{NUMBER} times|{NUMBER} (?:days|evenings|mornings|nights|hours)) a (?:day|week|month|year)|"
    rf"at {TIME_OF_DAY}|in the (?:morning|evening|afternoon)s?|after {TIME_OF_DAY}|before {TIME_OF_DAY}|after lunch|"
    r"after work|before work|these days|most (?:days|evenings|mornings|weekends)|every weekday|during the week|all "
    r"year round|at night)"
)
SINCE = (
    rf"(?:since (?:(?:{MONTH} )?(?:19|20)\d\d|{MONTH}|birth|childhood|(?:I|he|she|they) (?:was|were) (?:{AGE}|"
    rf"little|born|small|young|a (?:child|kid|teenager)))|for a (?:year|decade)|(?:all|for most of|most of) (?:my|"
    rf"our|his|her|"
    rf"their) li(?:fe|ves)|"
    rf"for (?:over |about |almost |nearly )?{NUMBER} (?:years|months|weeks))(?: now)?"
)
SEASON = rf"(?:week|year|spring|summer|autumn|fall|winter|month|{MONTH})"
LATELY = rf"(?:last|next) {SEASON}"
AT_THE_TIME = (
    rf"(?:(?:back )?in (?:the )?(?:early |late )?(?:19|20)?\d0s|{NUMBER} years ago|(?:in|on) {DATE}|in "
    rf"(?:{MONTH}(?: (?:19|20)\d\d)?|(?:19|20)\d\d)|last {SEASON})"
)
PAIR = rf"(?:{COUNT}|{NUMBER}|no|several|many)"
GOODS = any_of(
    """boats motorbikes clocks watches furniture gardens instruments computers phones shoes clothes books cakes
    bread cheese wine beer honey vegetables roses tomatoes potatoes olives sheep pigs horses apps games software
    insurance lifts wind_turbines machines bridges ships pottery soap frames windows doors engines planes
    sensors hearing_aids maps films songs"""
)
"""What people make, mend, grow or sell for a living or for love."""
REMEDY = (
    "(?:"
    + any_of("""insulin blood_thinners ibuprofen iron lithium""")
    + (
        r"|[a-z]{2,}(?:traline|oxetine|pril|sartan|olol|statin|dipine|azole|idone|mab|cillin|mycin|prazole|azepam|"
        r"thyroxine|"
        r"triptan|apine|azine))"
    )
)
BONE = any_of("arm leg wrist ankle hip collarbone nose foot hand elbow shoulder thumb toe finger knee rib")
SURGERY = any_of("a_stroke")
NO_NAME = any_of(
    """Hope Regret Regrets Doubt Fear Denial Despair Bliss Peace Shame Guilt Sin Grief Sorrow Misery Poverty Exile
    Silence Darkness Shadows Light Love Hate Hatred Anger Rage Pain Pleasure Madness Sanity Insanity Reality Fantasy
    Dreamland Dreams Fairyland Paradise Purgatory Debt Danger Doom Luxury Style Nostalgia Memories Memory Future
    Past Present Time Space Cyberspace Internet Dinosaur Dragon Monster Beast Snake Rat Pig Cow Lion Tiger Wolf Bear
    Fox Shark Sheep Goat Chicken Donkey Vampire Zombie Witch Wizard Ghost Ghosts Demon Demons Devil Angel Saint
    Goddess King Queen Prince Princess Emperor Tyrant Dictator Clown Clowns Genius Legend Hero Star Rock Rockstar
    Ninja Guru Machine Robot Encyclopedia Dictionary Brick Disaster Catastrophe Nightmare Dream Joke Wreck Mess
    Relic Antique Fossil Tank Toaster Potato Rocket Bomb Volcano Tornado Hurricane Storm Family Families Circus Zoo
    Jungle Prison Madhouse Asylum Battlefield War Trap Mystery Miracle Treasure Jewel Gem Diamond Gold Peanuts
    Coffee Tea Wine Beer Gin Chocolate Cheese Food Bread Pizza Sugar Money Work Music Art Football Sport Jesus
    Christ Allah Buddha Death Life Nature Gravity Karma Fate Destiny Luck Fortune Boredom Envy Jealousy Pride Greed
    Lust Wrath Sloth Freedom Justice Truth Honesty Kindness Loneliness Solitude Happiness Sadness Confusion Panic
    Stress Anxiety Depression Insomnia Uncertainty Anarchy Bureaucracy Babylon Never-Never-Land Cloud_Nine
    Square_One Plan_[A-Z] Dark_Side Wild_West Twilight_Zone (?:Stone|Ice|Bronze)_Age Middle_Ages Dark_Ages
    Hard_Knocks Pandemonium Purgatory Oblivion Obscurity Disgrace Sarcasm Clouds Castle Tower Bubble Shit Bullshit
    Rubbish Trash Garbage Idiots Morons Fools Everyone Everybody Someone Somebody Strangers"""
)
"""Words that are written like names and are none: who lives with Regret has no flatmate."""
