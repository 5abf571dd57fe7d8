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
PROPER = rf"i?{UP}[\w'&.+#-]*\w\+{{0,2}}|{UP}"
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
    colleague flatmate roommate landlord teacher doctor dentist"""
)
PET = any_of("dog cat puppy kitten horse rabbit hamster parrot tortoise turtle fish bird budgie guinea_pig pony")
FAMILY = rf"{KIN}|{PET}|child|children|kids|(?:sister|brother|son|daughter|cousin|{PET})s|(?:pupp|pon)ies"
OCCUPATION = (
    r"(?:(?:senior|junior|retired|freelance|primary|school|software|data|civil|mechanical|electrical|web|graphic|"
    r"product|project|paediatric|research|head|taxi|truck|bus|train|family|maths?|music|history|science|police|"
    r"PhD|medical|night|part-time) ){0,2}"
    + any_of(
        """nurse doctor teacher engineer developer programmer designer architect lawyer solicitor accountant chef cook
    baker barista waiter waitress driver pilot farmer carpenter electrician plumber journalist editor writer
    translator interpreter librarian scientist researcher biologist chemist physicist mathematician professor
    lecturer student pharmacist dentist vet veterinarian therapist psychologist surgeon paramedic firefighter
    mechanic manager consultant analyst administrator secretary receptionist photographer musician actor actress
    painter economist historian midwife soldier gardener florist butcher sailor tester technician intern welder
    statistician banker cashier clerk officer tutor hairdresser beekeeper geologist astronomer"""
    )
)
FIELD = any_of(
    """finance marketing healthcare education logistics retail construction publishing insurance banking tourism
    agriculture law sales software IT HR tech research advertising accounting journalism hospitality"""
)
STUDY = any_of(
    """physics mathematics maths math biology chemistry medicine law history economics psychology philosophy
    linguistics engineering computer_science music art architecture nursing sociology geography literature"""
)
PLAYED = any_of(
    """piano guitar violin cello drums flute trumpet saxophone clarinet bass harp chess tennis football soccer
    basketball volleyball badminton golf rugby cricket hockey bridge go table_tennis squash"""
)
DIET = any_of(
    """vegan vegetarian pescatarian teetotal coeliac celiac diabetic left-handed right-handed colour-blind
    color-blind dyslexic lactose_intolerant gluten_intolerant deaf blind short-sighted asthmatic"""
)
ALLERGEN = any_of(
    """nuts peanuts tree_nuts almonds hazelnuts walnuts cashews shellfish seafood fish shrimp prawns milk dairy
    lactose eggs soy wheat gluten pollen penicillin ibuprofen aspirin cats dogs cat_hair dog_hair latex dust bees
    bee_stings wasps strawberries kiwi sesame mustard celery mushrooms tomatoes"""
)
NATION = any_of(
    """German French Spanish Italian English British American Canadian Mexican Brazilian Portuguese Dutch Belgian
    Swiss Austrian Polish Czech Danish Swedish Norwegian Finnish Russian Ukrainian Turkish Greek Irish Scottish
    Welsh Indian Chinese Japanese Korean Vietnamese Thai Australian Nigerian Kenyan Egyptian Argentinian Chilean
    Colombian"""
)
LANGUAGE = rf"(?:{NATION}|{any_of('Arabic Mandarin Cantonese Hindi Urdu Hebrew Persian Swahili Catalan Hungarian')})"
COLOUR = any_of("red orange yellow green blue purple violet pink brown black white grey gray turquoise")
HOBBY = any_of(
    """hiking swimming reading cooking running cycling painting gardening dancing singing skiing sailing climbing
    baking fishing camping knitting travelling traveling photography rowing surfing drawing sewing pottery"""
)
OWN = any_of(
    """time_zone timezone pronouns car laptop phone bike computer camera editor bank employer city home_town hometown
    team school university native_language mother_tongue first_language blood_type shoe_size t-shirt_size
    star_sign boss manager landlord doctor dentist wife husband partner sister brother girlfriend boyfriend
    operating_system"""
)

NUMBER = any_of(
    """a an one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety half_an"""
)
AGE = rf"(?:1[01]\d|\d\d?|{NUMBER})"
NUMBER = rf"(?:\d{{1,3}}(?:[.,]\d{{1,3}})?|{NUMBER})"
RELATIVE = rf"(?:{KIN}|" + any_of(
    """stepson stepdaughter stepfather stepmother stepbrother stepsister half-brother half-sister godson goddaughter
    granddaughter grandson mother-in-law father-in-law sister-in-law brother-in-law godmother godfather tutor
    coach therapist accountant lawyer trainer supervisor nanny childminder spouse great-aunt great-uncle team_lead"""
) + ")"  # fmt: skip
RELATIVES = any_of(
    """parents grandparents in-laws kids children twins daughters sons brothers sisters siblings cousins
    grandchildren stepchildren"""
)
ANIMALS = rf"(?:{PET}|" + any_of(
    """hen hens chicken chickens goat goats sheep donkey donkeys bees ducks geckos gecko snake cats
    dogs horses rabbits hamsters parrots tortoises turtles fish guinea_pigs budgies ponies kittens puppies"""
) + ")"  # fmt: skip
PERSONAL = any_of(
    """older younger elder eldest oldest youngest little big twin best old other new late three-year-old teenage"""
)
STANDING = any_of("retired trained self-employed part-time full-time qualified certified former trainee assistant")
JOB = rf"(?:{STANDING} )?(?:{OCCUPATION}|" + any_of(
    """beekeeper sculptor shepherd postman postwoman bookseller tailor seamstress bricklayer roofer joiner potter
    judge notary optician podiatrist physiotherapist osteopath radiologist anaesthetist cardiologist paediatrician
    caretaker social_worker care_worker flight_attendant tour_guide civil_servant stay-at-home_dad
    stay-at-home_mum translator bookkeeper illustrator animator composer conductor violinist pianist cellist
    drummer dancer choreographer theologian priest pastor vicar rabbi archivist curator archaeologist botanist
    zoologist meteorologist stonemason glazier upholsterer blacksmith goldsmith locksmith brewer winemaker
    forester fisherman diver lifeguard referee headmaster headteacher childminder primary_school_teacher
    kindergarten_teacher sysadmin data_scientist product_manager project_manager software_engineer web_developer
    game_designer UX_designer tax_adviser PhD_student medical_student law_student postdoc freelancer entrepreneur
    landscape_gardener train_driver bus_driver"""
) + ")"  # fmt: skip
WORKPLACE = any_of(
    """hospital clinic school university library museum theatre theater bank bakery restaurant café cafe bookshop
    pharmacy laboratory lab factory farm hotel kindergarten nursery college office studio gallery archive
    newspaper brewery vineyard garage workshop start-up startup shop supermarket shelter charity consultancy
    warehouse airport nursing_home law_firm town_hall city_council call_centre food_bank animal_shelter
    youth_centre retirement_home publishing_house radio_station research_institute secondary_school primary_school
    grammar_school high_school music_school art_school vocational_school language_school bilingual_kindergarten
    care_home post_office tax_office co-working_space insurance_company software_company advertising_agency
    bike_shop flower_shop pet_shop town_library city_library public_library botanical_garden community_garden
    soup_kitchen hospice repair_café charity_shop"""
)
SUCH = any_of("small large big local public private little tiny state children's university family old new")
WHICH = rf"(?:{SUCH} )?"
A_WORKPLACE = rf"(?:(?:an?|the|our|my) {WHICH}{WORKPLACE}|{NAME})"
DWELLING = any_of(
    """flat apartment house bungalow cottage farm farmhouse houseboat village town suburb studio terraced_house
    caravan tower_block small_town commune boat city mobile_home shared_flat converted_barn basement_flat
    attic_flat"""
)
ESTATE = any_of(
    """farm house cottage flat garden allotment vineyard orchard cabin balcony holiday_home summer_house shop bakery
    café restaurant boat greenhouse caravan garage basement spare_room terrace"""
)
VEHICLE = any_of(
    """car van bike bicycle motorbike scooter moped caravan cargo_bike e-bike camper camper_van truck pickup
    convertible estate hybrid"""
)
DEVICE = any_of(
    """laptop phone tablet computer desktop monitor keyboard camera printer e-reader router watch smartwatch TV
    work_laptop editor browser IDE terminal shell mail_client password_manager bank main_language bike car guitar
    piano"""
)
LOOK = any_of("old new small big electric red blue green black white silver second-hand used folding vintage tiny")
ILLNESS = any_of(
    """asthma diabetes migraines hay_fever eczema epilepsy dyslexia ADHD arthritis tinnitus coeliac_disease insomnia
    rosacea psoriasis high_blood_pressure low_blood_pressure type_1_diabetes type_2_diabetes chronic_migraines
    glaucoma endometriosis sleep_apnoea a_pacemaker a_bad_back a_bad_knee a_heart_condition a_slipped_disc
    an_underactive_thyroid a_hearing_aid hearing_aids braces perfect_pitch"""
)
FOOD = any_of(
    """meat fish pork beef lamb chicken seafood shellfish dairy milk cheese eggs nuts peanuts gluten wheat bread
    sugar salt mushrooms onions garlic tomatoes peppers olives coriander cilantro celery broccoli spinach kale
    beans lentils tofu soy rice pasta potatoes fruit vegetables chocolate sweets dessert desserts breakfast lunch
    dinner honey butter red_meat raw_fish raw_onions fast_food spicy_food processed_food wet_food dry_food
    cow's_milk oat_milk soy_milk sushi curry soup bananas apples strawberries kiwi pineapple anchovies liver
    oysters prawns aubergine courgette"""
)
DRINK = any_of(
    """coffee tea alcohol beer wine milk juice soda cola water whisky gin green_tea black_tea herbal_tea oat_milk
    sparkling_water tap_water decaf espresso red_wine white_wine energy_drinks fizzy_drinks"""
)
TRAIT = any_of(
    """vegan vegans vegetarian vegetarians pescatarian teetotal coeliac celiac diabetic left-handed right-handed
    colour-blind color-blind colourblind colorblind dyslexic lactose_intolerant gluten_intolerant deaf blind
    short-sighted near-sighted asthmatic married divorced widowed single retired self-employed ambidextrous
    epileptic bilingual an_only_child a_morning_person a_night_owl an_early_bird a_smoker a_non-smoker
    a_vegetarian a_vegan a_twin non-binary hard_of_hearing claustrophobic anaemic autistic Catholic Protestant
    Jewish Muslim Hindu Buddhist Orthodox an_atheist bald semi-retired"""
)
SPECIAL_DIET = any_of("gluten-free dairy-free vegan vegetarian low-carb low-salt keto kosher halal diabetic low-FODMAP")
FEAR = any_of(
    """heights spiders dogs flying snakes needles dentists thunder clowns water wasps bees mice crowds lifts
    elevators the_dark small_spaces deep_water thunderstorms horses blood"""
)
SKILL = any_of(
    """drive swim ski knit sew cook read_music touch-type ride_a_bike drive_a_manual sail juggle play_chess whistle
    dance sing"""
)
EXERCISE = any_of(
    """running swimming cycling climbing hiking dancing jogging bouldering rowing skiing skating sailing surfing
    riding fishing to_the_gym to_church to_yoga to_Pilates to_mosque to_synagogue to_choir_practice to_the_sauna
    to_the_market for_a_run for_a_walk for_a_swim to_physiotherapy to_physio to_therapy to_evening_classes"""
)
ART = any_of(
    """alto soprano tenor bass baritone piano guitar drums violin cello flute clarinet saxophone trumpet trombone
    viola oboe bassoon harp accordion ukulele banjo mandolin bagpipes organ keyboards double_bass electric_guitar
    bass_guitar rugby football handball darts squash padel lacrosse curling snooker water_polo floorball petanque
    ice_hockey field_hockey beach_volleyball board_games Dungeons_and_Dragons poker"""
)
MUSIC = rf"(?:{PLAYED}|{ART})"
GROUP = any_of(
    """choir band orchestra wind_band brass_band jazz_band rock_band string_quartet church_choir big_band folk_band
    youth_orchestra team club league cover_band theatre_group local_team five-a-side_team women's_team samba_band"""
)
CLUB = any_of(
    "climbing chess rowing tennis football running cycling book sailing hiking photography alpine swimming ski"
)
COLLECTED = any_of(
    """stamps coins vinyl records vinyl_records maps books comics postcards watches minerals fossils shells teapots
    board_games fountain_pens old_maps old_cameras old_postcards first_editions beer_mats cacti fridge_magnets
    typewriters Lego_sets model_trains antique_clocks sneakers seashells rare_books old_coins"""
)
HOLIDAY = any_of(
    """Christmas Hanukkah Diwali Eid Ramadan Easter Passover Nowruz Holi Thanksgiving Purim Vesak Midsummer name_days
    Lunar_New_Year Chinese_New_Year Orthodox_Christmas Orthodox_Easter Rosh_Hashanah Yom_Kippur St_Nicholas"""
)
LOVED = any_of(
    """long_walks train_rides long_train_rides train_journeys board_games jazz opera classical_music techno
    folk_music crosswords crossword_puzzles sudoku detective_novels crime_novels science_fiction historical_novels
    poetry comics museums trains cats dogs animals spicy_food Thai_food Indian_food Italian_food dark_chocolate
    rainy_days camping_trips bird_watching birdwatching hiking_trips road_trips cold_weather hot_weather
    the_mountains the_sea winter autumn documentaries podcasts black-and-white_films old_films musicals ballet
    long_bike_rides wild_swimming mushroom_picking"""
)
SUBJECT = rf"(?:{STUDY}|" + any_of(
    """English German French Spanish Latin Greek statistics astronomy theology archaeology anthropology politics
    political_science business business_administration accounting chemistry marine_biology civil_engineering
    mechanical_engineering electrical_engineering graphic_design fine_arts media_studies education
    special_education PE informatics data_science robotics pharmacy dentistry veterinary_medicine agriculture
    forestry journalism drama religious_studies translation_studies neuroscience biochemistry materials_science
    geology meteorology yoga Pilates swimming pottery drawing piano violin guitar singing creative_writing"""
) + ")"  # fmt: skip
DEGREE = any_of(
    """PhD doctorate degree diploma MBA master's bachelor's master's_degree bachelor's_degree MSc BSc BA MA
    teaching_degree law_degree"""
)
LEARNED = rf"(?:{NATION}|" + any_of(
    """Arabic Mandarin Cantonese Hindi Urdu Hebrew Persian Farsi Swahili Catalan Hungarian Basque Welsh Icelandic
    Romanian Bulgarian Croatian Serbian Slovak Slovenian Estonian Latvian Lithuanian Albanian Georgian Armenian
    Tamil Bengali Punjabi Tagalog Indonesian Malay Yoruba Amharic Zulu Afrikaans Esperanto Latin sign_language
    Luxembourgish"""
) + ")"  # fmt: skip
ROOM = any_of("kitchen bathroom bedroom garden balcony cellar attic garage living_room flat house office building car")
FITTED = any_of(
    """an_induction_hob a_gas_hob a_gas_cooker a_dishwasher a_bathtub a_fireplace a_balcony a_garden a_cellar no_lift
    no_oven no_balcony no_dishwasher a_lift solar_panels a_heat_pump two_bedrooms three_bedrooms a_wood_stove
    a_spare_room underfloor_heating air_conditioning a_sloping_ceiling no_bathtub a_tow_bar a_roof_rack no_parking
    a_garage"""
)
OWN_PLACE = any_of(
    """office gym school university workplace studio flat house shop dentist doctor parish allotment new_office
    new_flat new_house old_school kids'_school children's_school local_library office_building practice
    parents'_house stable"""
)
NAMED = any_of(
    """project team company band boat wifi start-up startup shop café bakery blog podcast choir band club app product
    newsletter server cat_sitter street village cottage model school charity first_novel game studio channel"""
)
TOLD_BY_NAME = any_of(
    """manager boss doctor dentist landlord accountant lawyer therapist tutor coach supervisor team_lead GP vet
    hairdresser physiotherapist neighbour mentor cleaner plumber mechanic gynaecologist paediatrician physio
    midwife"""
)
FAVOURITE = any_of(
    """colour color author writer band singer composer painter film director city country food dish dessert drink
    season animal flower book novel poet sport subject game series museum restaurant tea fruit tree word musician
    artist"""
)
VALUED = any_of(
    """teal maroon navy indigo ochre beige lilac crimson red orange yellow green blue purple violet pink brown black
    white grey gray turquoise spring summer autumn winter lasagne pizza ramen risotto pho dumplings sushi curry
    paella goulash chocolate tiramisu coffee tea wine cheesecake apple_pie pancakes jasmine mango cherries
    raspberries owls otters foxes octopuses cats dogs elephants chess rugby football tennis peonies tulips
    sunflowers"""
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
    r"after work|before work|during the week|all year round|at night)"
)
SINCE = (
    rf"(?:since (?:(?:{MONTH} )?(?:19|20)\d\d|{MONTH}|birth|childhood)|for a (?:year|decade)|all my life|"
    rf"for (?:over |about |almost |nearly )?{NUMBER} (?:years|months|weeks))(?: now)?"
)
SEASON = rf"(?:year|spring|summer|autumn|fall|winter|month|{MONTH})"
AT_THE_TIME = rf"(?:in (?:{MONTH}(?: (?:19|20)\d\d)?|(?:19|20)\d\d)|last {SEASON})"
PAIR = rf"(?:{COUNT}|{NUMBER}|no|several|many)"
