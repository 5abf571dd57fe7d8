"""The words that plain clauses are made of, by kind: the people and things talked about, and what is said of them.

Each is a pattern for one of several words. Words often used figuratively (a zoo, a nightmare, hell) are in none.
"""

from ..words.text import any_of

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
    agriculture law sales software IT HR tech research advertising accounting journalism hospitality aviation
    shipping fashion media television film music theatre the_arts the_civil_service local_government
    customer_service customer_support user_support quality_control quality_assurance human_resources procurement
    public_health social_care childcare elder_care nursing_care mental_health forestry mining renewable_energy
    wind_energy cybersecurity robotics biotech pharma real_estate property banking_software intensive_care oncology
    paediatrics geriatrics palliative_care dispatch purchasing payroll administration catering"""
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
    """nuts peanuts tree_nuts almonds hazelnuts walnuts cashews shellfish seafood fish shrimp prawns milk dairy lactose
    eggs soy wheat gluten pollen penicillin ibuprofen aspirin cats dogs cat_hair dog_hair latex dust bees bee_stings
    wasps strawberries kiwi sesame mustard celery mushrooms tomatoes codeine sulfa_drugs antibiotics amoxicillin
    iodine nickel perfume grass grass_pollen birch_pollen tree_pollen ragweed mould mold house_dust_mites dust_mites
    horses rabbits guinea_pigs feathers wool lanolin lupin hazelnut almond peanut walnut sulphites egg apples
    bananas avocado cow's_milk crab lobster mussels oats corn onions garlic cinnamon paracetamol morphine
    anaesthetics insect_bites mosquito_bites"""
)
NATION = any_of(
    """German French Spanish Italian English British American Canadian Mexican Brazilian Portuguese Dutch Belgian Swiss
    Austrian Polish Czech Danish Swedish Norwegian Finnish Russian Ukrainian Turkish Greek Irish Scottish Welsh
    Indian Chinese Japanese Korean Vietnamese Thai Australian Nigerian Kenyan Egyptian Argentinian Chilean Colombian
    Syrian Iraqi Iranian Lebanese Palestinian Israeli Jordanian Moroccan Algerian Tunisian Libyan Sudanese Ethiopian
    Eritrean Somali Ugandan Tanzanian Rwandan Congolese Ghanaian Senegalese Cameroonian Ivorian South_African
    Zimbabwean Zambian Pakistani Bangladeshi Sri_Lankan Nepali Afghan Uzbek Kazakh Georgian Armenian Azerbaijani
    Mongolian Filipino Filipina Indonesian Malaysian Singaporean Taiwanese Peruvian Bolivian Ecuadorian Venezuelan
    Uruguayan Paraguayan Cuban Jamaican Dominican Haitian Guatemalan Honduran Icelandic Estonian Latvian Lithuanian
    Belarusian Slovak Slovenian Croatian Serbian Bosnian Macedonian Albanian Kosovar Montenegrin Bulgarian Romanian
    Moldovan Hungarian Maltese Cypriot Luxembourgish Catalan Basque"""
)
LANGUAGE = rf"(?:{NATION}|" + any_of(
    """Arabic Mandarin Cantonese Hindi Urdu Hebrew Persian Farsi Swahili Tamil Bengali Punjabi Tagalog Malay Yoruba
    Amharic Zulu Afrikaans Esperanto Latin sign_language Cyrillic Braille Gaelic Scottish_Gaelic Breton Galician
    Faroese Sámi Yiddish Kurdish Pashto Dari Sinhala Khmer Lao Burmese Tibetan Twi Igbo Hausa Tigrinya Xhosa
    Quechua Guaraní Maori Hawaiian ancient_Greek British_Sign_Language BSL ASL Mandarin_Chinese Swiss_German
    Wolof Klingon"""
) + ")"  # fmt: skip
COLOUR = any_of("red orange yellow green blue purple violet pink brown black white grey gray turquoise")
HOBBY = any_of(
    """hiking swimming reading cooking running cycling painting gardening dancing singing skiing sailing climbing
    baking fishing camping knitting travelling traveling photography rowing surfing drawing sewing pottery walking
    jogging kayaking canoeing bouldering snowboarding birdwatching stargazing beekeeping woodworking woodcarving
    carpentry crocheting embroidery quilting weaving calligraphy origami geocaching foraging scuba_diving diving
    snorkelling windsurfing kitesurfing horse_riding orienteering trail_running cross-country_skiing ice_skating
    juggling model-making metal_detecting bookbinding home_brewing songwriting blogging coding programming"""
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
    """hen hens chicken chickens goat goats sheep donkey donkeys bees ducks geckos gecko snake cats dogs horses rabbits
    hamsters parrots tortoises turtles fish guinea_pigs budgies ponies kittens puppies greyhound labrador poodle
    terrier spaniel dachshund collie sheepdog beagle husky retriever golden_retriever border_collie German_shepherd
    rescue_dog ferret ferrets rat rats mice chinchilla pigeons canary canaries cockatiel lizard iguana axolotl
    stick_insects alpacas llamas pigs pig cows cow geese budgerigar hedgehog tarantula koi goldfish"""
) + ")"  # fmt: skip
PERSONAL = any_of(
    """older younger elder eldest oldest youngest little big twin best old other new late three-year-old teenage first
    second third foster adopted half middle eight-year-old grown-up closest former"""
)
STANDING = any_of(
    """retired trained self-employed part-time full-time qualified certified former trainee assistant semi-retired
    freelance self-taught professional amateur volunteer senior junior chief deputy head lead newly_qualified
    registered chartered licensed night-shift independent"""
)
JOB = rf"(?:{STANDING} )?(?:{OCCUPATION}|" + any_of(
    """beekeeper sculptor shepherd postman postwoman bookseller tailor seamstress bricklayer roofer joiner potter judge
    notary optician podiatrist physiotherapist osteopath radiologist anaesthetist cardiologist paediatrician
    caretaker social_worker care_worker flight_attendant tour_guide civil_servant stay-at-home_dad stay-at-home_mum
    translator bookkeeper illustrator animator composer conductor violinist pianist cellist drummer dancer
    choreographer theologian priest pastor vicar rabbi archivist curator archaeologist botanist zoologist
    meteorologist stonemason glazier upholsterer blacksmith goldsmith locksmith brewer winemaker forester fisherman
    diver lifeguard referee headmaster headteacher childminder primary_school_teacher kindergarten_teacher sysadmin
    data_scientist product_manager project_manager software_engineer web_developer game_designer UX_designer
    tax_adviser PhD_student medical_student law_student postdoc freelancer entrepreneur landscape_gardener
    train_driver bus_driver miner plasterer scaffolder crane_operator tram_driver taxi_driver lorry_driver
    delivery_driver courier postie bin_man cleaner janitor housekeeper porter warden prison_officer customs_officer
    coastguard sailor pilot steward stewardess cobbler dressmaker fashion_designer interior_designer set_designer
    costume_designer cartoonist printmaker engraver ceramicist glassblower jeweller watchmaker clockmaker luthier
    piano_tuner sound_engineer DJ producer film_editor cameraman actor comedian puppeteer magician opera_singer
    singer songwriter violin_maker cabinetmaker shipwright boatbuilder oyster_farmer dairy_farmer sheep_farmer
    winegrower horticulturist arborist tree_surgeon florist agronomist vet_nurse zookeeper dog_trainer
    riding_instructor ski_instructor swimming_teacher yoga_teacher personal_trainer dietitian dietician nutritionist
    speech_therapist occupational_therapist dental_hygienist dental_nurse orthodontist dermatologist neurologist
    psychiatrist oncologist GP general_practitioner district_nurse health_visitor carer dental_technician
    lab_technician radiographer orderly undertaker gravedigger stonecutter bailiff barrister paralegal magistrate
    prosecutor diplomat ambassador civil_engineer structural_engineer chemical_engineer sales_assistant
    shop_assistant salesman saleswoman estate_agent insurance_broker stockbroker actuary auditor bookbinder
    proofreader copy_editor copywriter publisher poet novelist playwright screenwriter ghostwriter critic columnist
    reporter broadcaster news_editor web_designer backend_developer frontend_developer game_developer
    DevOps_engineer site_reliability_engineer data_engineer data_analyst network_engineer security_engineer
    systems_administrator database_administrator scrum_master UX_researcher business_analyst recruiter HR_manager
    payroll_clerk office_manager operations_manager site_manager store_manager hotel_manager event_manager
    wedding_planner travel_agent tour_operator croupier bartender sommelier pastry_chef sous-chef butcher fishmonger
    cheesemaker chocolatier distiller roaster miller greengrocer grocer ironmonger teaching_assistant
    nursery_teacher maths_teacher history_teacher music_teacher language_teacher English_teacher piano_teacher
    driving_instructor lecturer professor research_assistant lab_assistant astrophysicist oceanographer ecologist
    marine_biologist geneticist microbiologist virologist epidemiologist criminologist anthropologist sociologist
    linguist philosopher political_scientist mathematician cartographer surveyor land_surveyor quantity_surveyor
    town_planner urban_planner machinist toolmaker lathe_operator forklift_driver factory_worker welder
    foundry_worker steelworker docker seafarer ship's_captain train_conductor signalman railway_engineer
    air_traffic_controller aircraft_mechanic bike_mechanic car_mechanic boat_builder gunsmith saddler farrier groom
    jockey footballer cyclist football_coach chess_coach sports_teacher youth_worker probation_officer foster_carer
    community_nurse midwife doula hospice_nurse nun monk deacon imam chaplain army_officer naval_officer
    police_officer detective firefighter bus_conductor ticket_inspector park_ranger gamekeeper mountain_guide
    mountaineer housewife househusband homemaker pensioner apprentice_electrician apprentice_carpenter
    apprentice_baker trainee_teacher PhD_candidate doctoral_student exchange_student nursing_student art_student
    music_student philosophy_student master's_student"""
) + (
    r"|(?:[a-z]+ )?[a-z]+(?:ologist|ographer|otherapist|physicist|chemist)|(?!bad|good|great|real|"
    r"rocket)[a-z]+ (?:engineer|"
    r"officer|assistant|nurse|teacher|technician|designer|developer|instructor|researcher|coordinator|administrator|"
    r"analyst|inspector|hygienist|therapist|scientist))"
)  # fmt: skip
WORKPLACE = any_of(
    """hospital clinic school university library museum theatre theater bank bakery restaurant café cafe bookshop
    pharmacy laboratory lab factory farm hotel kindergarten nursery college office studio gallery archive newspaper
    brewery vineyard garage workshop start-up startup shop supermarket shelter charity consultancy warehouse airport
    nursing_home law_firm town_hall city_council call_centre food_bank animal_shelter youth_centre retirement_home
    publishing_house radio_station research_institute secondary_school primary_school grammar_school high_school
    music_school art_school vocational_school language_school bilingual_kindergarten care_home post_office
    tax_office co-working_space insurance_company software_company advertising_agency bike_shop flower_shop pet_shop
    town_library city_library public_library botanical_garden community_garden soup_kitchen hospice repair_café
    charity_shop dairy mill shipyard port harbour quarry mine steelworks printing_house print_shop foundry sawmill
    power_station wind_farm refinery depot bus_depot railway station fire_station police_station court
    law_court embassy consulate ministry town_council county_council hospital_pharmacy children's_hospital
    veterinary_clinic dental_practice GP_practice medical_practice eye_clinic maternity_ward intensive_care_unit
    emergency_room hospital_kitchen school_kitchen canteen sandwich_shop coffee_shop tea_room pub bar nightclub
    cinema theatre_company opera_house orchestra film_studio recording_studio television_station TV_station magazine
    agency design_studio architecture_firm engineering_firm accounting_firm shipping_company logistics_company
    insurance_firm energy_company telecoms_company phone_company car_company construction_company construction_site
    building_firm cleaning_company security_company travel_agency estate_agency marketing_agency call_center
    department_store toy_shop shoe_shop clothes_shop second-hand_shop antique_shop music_shop record_shop
    hardware_shop garden_centre butcher's chemist's greengrocer's hairdresser's salon barbershop petrol_station
    car_wash car_dealership bike_workshop gym swimming_pool sports_centre ski_school riding_school stables
    dog_shelter aquarium nature_reserve national_park campsite youth_hostel guest_house B&B ski_resort
    nursery_school day-care_centre daycare boarding_school special_school comprehensive_school village_school
    technical_college community_college business_school medical_school drama_school dance_school driving_school
    foundation trade_union church parish mosque synagogue monastery women's_shelter homeless_shelter refugee_centre
    job_centre tax_authority research_lab hospital_lab observatory planetarium bookmaker's tattoo_studio
    pottery_studio photo_studio games_studio game_studio tech_company fintech biotech_company pharmaceutical_company
    family_business bike_company furniture_factory chocolate_factory paper_mill textile_factory glass_factory
    car_factory"""
)
SUCH = any_of("small large big local public private little tiny state children's university family old new")
WHICH = rf"(?:{SUCH} )?"
A_WORKPLACE = rf"(?:(?:an?|the|our|my) {WHICH}{WORKPLACE}|(?:the )?{NAME})"
DWELLING = any_of(
    """flat apartment house bungalow cottage farm farmhouse houseboat village town suburb studio terraced_house caravan
    tower_block small_town commune boat city mobile_home shared_flat converted_barn basement_flat attic_flat loft
    maisonette bedsit duplex penthouse semi-detached_house detached_house row_house mill old_mill schoolhouse
    old_schoolhouse farmstead chalet cabin log_cabin narrowboat hamlet valley mountain_village fishing_village
    council_flat rented_flat student_hall hall_of_residence shared_house two-room_flat one-bedroom_flat
    two-bedroom_flat ground-floor_flat top-floor_flat townhouse granny_flat yurt housing_estate old_bakery
    old_farmhouse converted_chapel converted_mill converted_church"""
)
ESTATE = any_of(
    """farm house cottage flat garden allotment vineyard orchard cabin balcony holiday_home summer_house shop bakery
    café restaurant boat greenhouse caravan garage basement spare_room terrace holiday_cottage holiday_flat
    summer_cottage weekend_house beach_house beach_hut mountain_hut log_cabin plot_of_land field small_farm
    sheep_farm dairy_farm goat_farm olive_grove pottery kiln workshop studio salon pub guest_house hotel sauna
    hot_tub pool swimming_pool pond polytunnel shed garden_shed beehive hayloft stable boathouse sailing_boat
    rowing_boat canoe kayak houseboat bookshop flower_shop bike_shop hairdresser's launderette kiosk food_truck
    food_stall market_stall brewery small_business consultancy dance_school nursery vegetable_garden herb_garden
    roof_terrace conservatory wood_stove fireplace"""
)
VEHICLE = any_of(
    """car van lorry bike bicycle motorbike scooter moped caravan cargo_bike e-bike camper camper_van truck pickup
    convertible estate hybrid Vespa tandem recumbent unicycle tractor quad_bike minibus sports_car station_wagon
    racing_bike road_bike mountain_bike folding_bike electric_car electric_bike hatchback SUV jeep motorcycle
    sidecar wheelchair mobility_scooter tricycle"""
)
DEVICE = any_of(
    """laptop phone tablet computer desktop monitor keyboard camera printer e-reader router watch smartwatch TV
    work_laptop editor browser IDE terminal shell mail_client password_manager bank main_language bike car guitar
    piano"""
)
LOOK = any_of(
    """old new small big electric red blue green black white silver second-hand used folding vintage tiny battered
    rusty yellow orange grey gray purple pink brown beige 20-year-old ten-year-old three-bedroom two-bedroom
    one-bedroom furnished unfurnished spacious cosy sunny little cheap lovely nice great refurbished beautiful noisy
    quiet large wooden stone brick"""
)
ILLNESS = (
    "(?:"
    + any_of(
        """asthma diabetes migraines hay_fever eczema epilepsy dyslexia ADHD arthritis tinnitus coeliac_disease insomnia
    rosacea psoriasis high_blood_pressure low_blood_pressure type_1_diabetes type_2_diabetes chronic_migraines
    glaucoma endometriosis sleep_apnoea a_pacemaker a_bad_back a_bad_knee a_heart_condition a_slipped_disc
    an_underactive_thyroid a_hearing_aid hearing_aids braces perfect_pitch cancer breast_cancer Parkinson's
    Alzheimer's dementia multiple_sclerosis MS Crohn's_disease ulcerative_colitis IBS lupus fibromyalgia gout
    anaemia haemophilia sickle_cell_disease cystic_fibrosis osteoporosis scoliosis sciatica vertigo hypothyroidism
    heart_disease heart_failure a_heart_murmur a_hernia a_stoma a_hip_replacement a_knee_replacement
    an_artificial_hip a_new_hip a_prosthetic_leg a_cochlear_implant cataracts colour_blindness astigmatism reflux
    gallstones kidney_stones Down's_syndrome Tourette's OCD PTSD depression anxiety bipolar_disorder autism
    dyspraxia dyscalculia a_stammer a_stutter a_lisp a_nut_allergy a_peanut_allergy a_dairy_allergy
    a_gluten_intolerance lactose_intolerance a_bad_hip a_bad_shoulder bad_knees bad_eyesight poor_eyesight
    poor_hearing diabetes_type_1 diabetes_type_2 high_cholesterol long_Covid chronic_fatigue chronic_pain back_pain
    back_problems rheumatism tennis_elbow flat_feet sleep_apnea a_thyroid_condition narcolepsy hives
    cluster_headaches"""
    )
    + (
        r"|(?:(?:mild|severe|chronic) )?[a-z]+(?:itis|osis|aemia|emia|algia|opathy|phobia)|"
        r"(?:(?:an?|mild|severe|chronic) )?(?:[a-z]+['’]?s? )?(?:disease|syndrome|intolerance))"
    )
)
FOOD = any_of(
    """meat fish pork beef lamb chicken seafood shellfish dairy milk cheese eggs nuts peanuts gluten wheat bread sugar
    salt mushrooms onions garlic tomatoes peppers olives coriander cilantro celery broccoli spinach kale beans
    lentils tofu soy rice pasta potatoes fruit vegetables chocolate sweets dessert desserts breakfast lunch dinner
    honey butter red_meat raw_fish raw_onions fast_food spicy_food processed_food wet_food dry_food cow's_milk
    oat_milk soy_milk sushi curry soup bananas apples strawberries kiwi pineapple anchovies liver oysters prawns
    aubergine courgette red_cabbage cabbage cauliflower Brussels_sprouts sprouts beetroot beets leeks parsnips
    turnips carrots cucumber cucumbers lettuce radishes fennel artichokes asparagus peas chickpeas corn avocado
    avocados grapefruit oranges lemons pears plums peaches apricots cherries raspberries blueberries grapes raisins
    dates figs melon mango coconut papaya almonds walnuts hazelnuts pistachios cashews sesame oats porridge muesli
    cereal white_bread rye_bread sourdough noodles couscous quinoa polenta dumplings pizza hummus falafel
    blue_cheese goat's_cheese feta mozzarella yoghurt yogurt cream ice_cream custard whipped_cream salami ham bacon
    sausages veal venison duck turkey rabbit tuna salmon herring mackerel cod squid octopus mussels crab lobster
    caviar liquorice licorice marzipan marshmallows jam marmalade peanut_butter mayonnaise ketchup mustard vinegar
    pickles gherkins capers chilli ginger garlic_bread mint parsley dill basil rosemary thyme saffron cinnamon
    cloves aniseed truffles ready_meals sweet_things fried_food raw_tomatoes raw_eggs blood_sausage offal tripe
    kimchi tempeh seaweed"""
)
DRINK = any_of(
    """coffee tea alcohol beer wine milk juice soda cola water whisky gin green_tea black_tea herbal_tea oat_milk
    sparkling_water tap_water decaf espresso red_wine white_wine energy_drinks fizzy_drinks champagne prosecco cider
    rum vodka brandy port sherry mulled_wine cocktails lemonade orange_juice apple_juice tomato_juice coconut_water
    hot_chocolate cocoa mint_tea camomile_tea chamomile_tea rooibos matcha mate kombucha buttermilk almond_milk
    rice_milk soya_milk black_coffee instant_coffee filter_coffee caffeine spirits"""
)
TRAIT = any_of(
    """vegan vegans vegetarian vegetarians pescatarian teetotal coeliac celiac diabetic left-handed right-handed
    colour-blind color-blind colourblind colorblind colour_blind color_blind
    dyslexic lactose_intolerant gluten_intolerant deaf blind
    short-sighted near-sighted short_sighted near_sighted left_handed
    asthmatic married divorced widowed single retired self-employed ambidextrous
    epileptic bilingual an_only_child a_morning_person a_night_owl an_early_bird a_smoker a_non-smoker a_vegetarian
    a_vegan a_twin non-binary hard_of_hearing claustrophobic anaemic autistic Catholic Protestant Jewish Muslim
    Hindu Buddhist Orthodox an_atheist bald semi-retired sober celibate childless hearing-impaired visually_impaired
    partially_sighted partially_deaf long-sighted nearsighted farsighted tone-deaf red-green_colour-blind
    transgender trans gay lesbian bisexual straight asexual queer neurodivergent an_introvert an_extrovert
    an_early_riser an_orphan adopted an_identical_twin a_triplet a_widow a_widower a_grandmother a_grandfather
    a_grandparent a_great-grandmother a_single_mother a_single_father a_single_parent a_single_mum a_single_dad
    a_new_dad a_new_mum a_beginner a_homeowner a_night_person a_cat_person a_dog_person a_Quaker a_Buddhist
    a_Christian a_Muslim a_Sikh a_Catholic a_Hindu an_agnostic a_Mormon a_Methodist Sikh Anglican Lutheran agnostic
    atheist a_cancer_survivor a_blood_donor a_feminist a_pacifist a_minimalist a_slow_reader a_bad_cook a_good_cook
    a_light_sleeper a_heavy_sleeper a_light_eater a_picky_eater left-footed tall short-tempered squeamish
    needle-phobic seasick travel-sick unemployed out_of_work in_a_wheelchair in_remission separated engaged
    dairy_intolerant a_non-drinker a_non-driver stateless bald-headed"""
)
SPECIAL_DIET = any_of("gluten-free dairy-free vegan vegetarian low-carb low-salt keto kosher halal diabetic low-FODMAP")
FEAR = any_of(
    """heights spiders dogs flying snakes needles dentists thunder clowns water wasps bees mice crowds lifts elevators
    the_dark small_spaces deep_water thunderstorms horses blood lightning fire the_sea birds cats public_speaking
    bridges tunnels injections storms rats snails moths balloons fireworks loud_noises the_vet vacuum_cleaners
    the_vacuum_cleaner cows geese strangers hospitals ghosts open_water cable_cars escalators"""
)
SKILL = any_of(
    """drive swim ski knit sew cook read_music touch-type ride_a_bike drive_a_manual sail juggle play_chess whistle
    dance sing read_maps read_Cyrillic read_Braille type_blind weld solder ride_a_motorbike ride_a_horse
    roller-skate ice-skate surf dive snowboard windsurf swim_crawl crochet draw paint speak_sign_language tie_a_tie
    do_a_handstand play_bridge drive_a_tractor drive_a_lorry fly_a_plane change_a_tyre bake_bread program code"""
)
EXERCISE = any_of(
    """running swimming cycling climbing hiking dancing jogging bouldering rowing skiing skating sailing surfing riding
    fishing to_the_gym to_church to_yoga to_Pilates to_mosque to_synagogue to_choir_practice to_the_sauna
    to_the_market for_a_run for_a_walk for_a_swim to_physiotherapy to_physio to_therapy to_evening_classes walking
    trail_running horse_riding sledging ice_skating kayaking canoeing ballroom_dancing salsa_dancing tango_dancing
    orienteering birdwatching to_the_pool to_the_swimming_pool to_the_cinema to_the_theatre to_the_opera
    to_the_library to_the_pub to_the_climbing_gym to_the_climbing_wall to_dance_class to_dance_classes to_yoga_class
    to_aqua_aerobics to_spin_class to_boxing to_judo to_karate to_choir to_band_practice to_rehearsal
    to_language_class to_night_school to_chess_club to_AA_meetings to_dialysis to_chemo to_the_chiropractor
    to_a_book_club to_the_allotment for_a_bike_ride for_a_jog"""
)
ART = any_of(
    """alto soprano tenor bass baritone piano guitar drums violin cello flute clarinet saxophone trumpet trombone viola
    oboe bassoon harp accordion ukulele banjo mandolin bagpipes organ keyboards double_bass electric_guitar
    bass_guitar rugby football handball darts squash padel lacrosse curling snooker water_polo floorball petanque
    ice_hockey field_hockey beach_volleyball board_games Dungeons_and_Dragons poker alto_saxophone recorder
    tin_whistle fiddle sitar tabla koto lute lyre zither dulcimer harmonica concertina melodica piccolo French_horn
    horn tuba euphonium cornet timpani marimba xylophone vibraphone harpsichord synthesizer synth steel_drums
    bodhrán mezzo-soprano first_violin second_violin lead_guitar rhythm_guitar classical_guitar upright_bass
    ping-pong walking_football netball softball baseball futsal badminton pétanque boules bowls pool billiards
    backgammon Go mahjong Scrabble draughts korfball Gaelic_football ultimate_frisbee American_football roller_derby
    wheelchair_basketball five-a-side pinball video_games role-playing_games Magic canasta whist skat bingo"""
)
MUSIC = rf"(?:{PLAYED}|{ART})"
GROUP = any_of(
    """choir band orchestra wind_band brass_band jazz_band rock_band string_quartet church_choir big_band folk_band
    youth_orchestra team club league cover_band theatre_group local_team five-a-side_team women's_team samba_band
    gospel_choir chamber_choir male_voice_choir women's_choir barbershop_quartet ceilidh_band punk_band metal_band
    indie_band blues_band string_orchestra symphony_orchestra amateur_orchestra school_orchestra school_choir
    village_band marching_band brass_quintet chamber_orchestra football_team netball_team hockey_team rugby_team
    volleyball_team basketball_team handball_team cricket_team quiz_team pub_quiz_team five-a-side_league
    Sunday_league second_division amateur_league book_club drama_group improv_group dance_group sewing_circle"""
)
CLUB = any_of(
    """climbing chess rowing tennis football running cycling book sailing hiking photography alpine swimming ski judo
    karate fencing archery gliding yacht tango salsa ballroom bridge gardening knitting quilting beekeeping diving
    triathlon athletics boxing cricket golf hockey rugby volleyball badminton film history writing poetry debating
    walking caving orienteering"""
)
COLLECTED = any_of(
    """stamps coins vinyl records vinyl_records maps books comics postcards watches minerals fossils shells teapots
    board_games fountain_pens old_maps old_cameras old_postcards first_editions beer_mats cacti fridge_magnets
    typewriters Lego_sets model_trains antique_clocks sneakers seashells rare_books old_coins old_radios old_books
    old_photographs antique_maps matchboxes keyrings snow_globes tin_toys toy_cars model_cars model_ships puppets
    dolls masks fans hats badges pins banknotes medals swords knives teacups mugs tea_tins bottle_caps wine_labels
    film_posters posters prints paintings lithographs autographs signed_books manuscripts cookbooks cookery_books
    crime_novels science_fiction_novels manga LPs cassettes CDs vintage_cameras cameras sewing_machines guitars
    synthesizers clocks barometers compasses pebbles driftwood feathers orchids succulents bonsai football_shirts
    football_stickers trading_cards Pokémon_cards chess_sets dice jigsaw_puzzles Matryoshka_dolls vintage_dresses
    buttons fabric yarn"""
)
HOLIDAY = any_of(
    """Christmas Hanukkah Diwali Eid Ramadan Easter Passover Nowruz Holi Thanksgiving Purim Vesak Midsummer name_days
    Lunar_New_Year Chinese_New_Year Orthodox_Christmas Orthodox_Easter Rosh_Hashanah Yom_Kippur St_Nicholas Advent
    Lent Vaisakhi Sukkot Shabbat Epiphany Halloween Bonfire_Night Burns_Night St_Patrick's_Day Carnival Karneval
    Sinterklaas St_Lucia Songkran Tet Losar Ashura Mawlid Eid_al-Fitr Eid_al-Adha Kwanzaa Pentecost Juneteenth
    Whitsun Hogmanay"""
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
    mechanical_engineering electrical_engineering graphic_design fine_arts media_studies education special_education
    PE informatics data_science robotics pharmacy dentistry veterinary_medicine agriculture forestry journalism
    drama religious_studies translation_studies neuroscience biochemistry materials_science geology meteorology yoga
    Pilates swimming pottery drawing piano violin guitar singing creative_writing IT computing software_engineering
    cybersecurity artificial_intelligence machine_learning architecture urban_planning interior_design
    fashion_design industrial_design product_design photography film film_studies theatre acting dance musicology
    music_theory composition jazz art_history classics ancient_history ancient_Greek Sanskrit Arabic Chinese
    Japanese Korean Russian Italian Portuguese Dutch international_relations public_health public_administration
    public_policy social_work criminology international_law human_rights finance marketing tourism hotel_management
    event_management logistics econometrics actuarial_science physiotherapy midwifery nutrition optometry
    speech_therapy occupational_therapy radiography paramedic_science sports_science microbiology molecular_biology
    genetics ecology zoology botany oceanography climate_science environmental_science environmental_engineering
    chemical_engineering aerospace_engineering naval_architecture bioinformatics applied_mathematics quantum_physics
    astrophysics library_science teaching primary_education early_childhood_education food_technology woodwork
    home_economics"""
) + r"|[a-z]+(?:ology|ography|onomics|omics|istics|ometry))"  # fmt: skip
DEGREE = any_of(
    """PhD doctorate degree diploma MBA master's bachelor's master's_degree bachelor's_degree MSc BSc BA MA
    teaching_degree law_degree"""
)
ROOM = any_of("kitchen bathroom bedroom garden balcony cellar attic garage living_room flat house office building car")
FITTED = any_of(
    """an_induction_hob a_gas_hob a_gas_cooker a_dishwasher a_bathtub a_fireplace a_balcony a_garden a_cellar no_lift
    no_oven no_balcony no_dishwasher a_lift solar_panels a_heat_pump two_bedrooms three_bedrooms a_wood_stove
    a_spare_room underfloor_heating air_conditioning a_sloping_ceiling no_bathtub a_tow_bar a_roof_rack no_parking
    a_garage a_piano a_pool a_sauna a_roof_terrace two_floors three_floors no_heating no_garden no_bath no_shower
    no_insulation four_bedrooms a_view_of_the_sea a_view_of_the_lake a_gas_boiler central_heating a_tiled_stove
    an_oven a_freezer two_doors four_doors winter_tyres all-wheel_drive a_manual_gearbox"""
)
OWN_PLACE = any_of(
    """office gym school university workplace studio flat house shop dentist doctor parish allotment new_office
    new_flat new_house old_school kids'_school children's_school local_library office_building practice
    parents'_house stable bank shop_floor desk meeting_room mosque synagogue temple dojo boxing_club hairdresser
    pharmacy post_office parents'_flat grandparents'_farm nursery daycare university_office head_office headquarters
    main_office warehouse lab"""
)
NAMED = any_of(
    """project team company band boat wifi start-up startup shop café bakery blog podcast choir band club app product
    newsletter server cat_sitter street village cottage model school charity first_novel game studio channel"""
)
TOLD_BY_NAME = any_of(
    """manager boss doctor dentist landlord accountant lawyer therapist tutor coach supervisor team_lead GP vet
    hairdresser physiotherapist neighbour mentor cleaner plumber mechanic gynaecologist paediatrician physio midwife
    thesis_supervisor line_manager family_doctor cardiologist dermatologist surgeon dietitian personal_trainer
    driving_instructor piano_teacher maths_teacher co-founder business_partner emergency_contact next_of_kin
    best_friend project_manager product_owner head_of_department tax_adviser estate_agent first_name surname
    childminder babysitter"""
)
FAVOURITE = any_of(
    """colour color author writer band singer composer painter film director city country food dish dessert drink
    season animal flower book novel poet sport subject game series museum restaurant tea fruit tree word musician
    artist cheese beer wine coffee breakfast cake ice_cream flavour vegetable meal snack sandwich soup cuisine place
    beach mountain river island holiday month day number letter song album album opera play musical actor actress
    comedian podcast radio_station newspaper magazine comic fairy_tale philosopher scientist team football_team
    player driver cyclist bird dog_breed stone scent perfume font programming_language language"""
)
VALUED = any_of(
    """teal maroon navy indigo ochre beige lilac crimson red orange yellow green blue purple violet pink brown black
    white grey gray turquoise spring summer autumn winter lasagne pizza ramen risotto pho dumplings sushi curry
    paella goulash chocolate tiramisu coffee tea wine cheesecake apple_pie pancakes jasmine mango cherries
    raspberries owls otters foxes octopuses cats dogs elephants chess rugby football tennis peonies tulips
    sunflowers gold silver magenta burgundy mustard cyan olive Friday Sunday October November spaghetti gnocchi
    couscous moussaka fish_and_chips shepherd's_pie roast_chicken bibimbap pad_thai pierogi borscht tacos enchiladas
    ceviche feijoada jollof_rice tagine falafel hummus rhubarb_crumble carrot_cake chocolate_cake lemon_tart
    crème_brûlée pavlova vanilla pistachio strawberry raspberry lemon coconut cinnamon pears plums figs lilies roses
    daffodils snowdrops lavender lilacs orchids hydrangeas violets oak birch the_oak the_birch the_kingfisher
    kingfishers swifts swallows robins puffins whales dolphins wolves hedgehogs bats penguins red_pandas cycling
    cricket swimming handball"""
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
    """boats cars bikes bicycles motorbikes clocks watches furniture houses kitchens gardens roofs instruments
    pianos guitars
    violins computers phones shoes clothes jewellery books toys cakes bread cheese wine beer honey vegetables flowers
    roses tomatoes herbs potatoes apples olives grapes sheep cattle pigs horses websites apps games software insurance
    tractors lorries lifts solar_panels wind_turbines heating_systems machines bridges ships pottery ceramics candles
    soap knitwear carpets tiles curtains frames windows doors stoves engines planes satellites sensors medical_devices
    hearing_aids medicines vaccines maps magazines textbooks children's_books crime_novels cookbooks films documentaries
    songs"""
)
"""Things that people make, mend, grow or sell for a living or as a hobby."""
REMEDY = (
    "(?:"
    + any_of(
        """insulin blood_thinners beta_blockers statins antidepressants antihistamines painkillers warfarin aspirin
    ibuprofen
    metformin cortisone iron iron_tablets vitamin_D vitamin_B12 folic_acid magnesium thyroid_tablets thyroxine
    blood_pressure_tablets sleeping_pills the_pill lithium methotrexate heart_tablets antacids creatine omega_3"""
    )
    + (
        r"|[a-z]{2,}(?:traline|oxetine|pril|sartan|olol|statin|dipine|azole|idone|mab|cillin|mycin|prazole|azepam|"
        r"thyroxine|"
        r"triptan|apine|azine))"
    )
)
BONE = any_of("arm leg wrist ankle hip collarbone nose foot hand elbow shoulder thumb toe finger knee rib")
SURGERY = any_of(
    """a_stroke a_heart_attack a_heart_transplant a_kidney_transplant a_liver_transplant a_bypass a_hip_replacement
    a_knee_replacement a_hip_operation a_knee_operation a_heart_operation a_back_operation a_cataract_operation
    a_Caesarean a_C-section a_miscarriage a_concussion a_burnout a_hysterectomy a_vasectomy cancer breast_cancer
    chemotherapy knee_surgery hip_surgery heart_surgery back_surgery eye_surgery open_heart_surgery polio measles
    malaria tuberculosis meningitis"""
)
APPOINTMENT = any_of(
    """stand-up daily_stand-up team_meeting weekly_meeting retro retrospective planning_meeting sprint_planning
    choir_practice band_practice rehearsal yoga_class dance_class language_class evening_class Spanish_class
    German_class French_class swimming_lesson piano_lesson guitar_lesson driving_lesson book_club seminar lecture
    one-to-one one-on-one training church_service all-hands office_hours release demo lunch_break night_shift
    early_shift physio therapy_session writing_group support_group parents'_evening market_day day_off"""
)
FORCE = any_of(
    "navy army air_force police fire_brigade coastguard merchant_navy marines military reserves civil_service Senate"
)
"""Organisations that somebody serves in."""
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
"""Words that are capitalised like names but are none: someone who lives with Regret has no flatmate."""
