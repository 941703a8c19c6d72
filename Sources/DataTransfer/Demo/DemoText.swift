/// The texts in the demo.
enum DemoText {
    static let work = [
        "Morning! Anyone seen the change token from yesterday?",
        "It expired. client knowledge differs from server knowledge 🙃",
        "Playing back the whole zone now",
        "48,210 changes, nine seconds",
        "The photos are still coming down",
        "Same here: 62 %",
        "Can you add SORTABLE on sentAt?",
        "Done, the index took a second",
        "Receipt attached",
        "Deploying the schema to production",
        "Wait for the index on author",
        "ok",
        "Screenshot",
        "Works on my iPad",
        "Ship it 🚀",
        "Message before its chat, never again",
        "The order of events is right this time",
        "Who deleted the Drafts zone?",
        "That was me, sorry. The data was test data",
        "Next time purge, then the clients don't upload it again",
        "recordChangeTag 1k, mine says 1g. Conflict, fetching again",
        "Rebased and pushed",
        "Build is green ✅",
        "Build is red 🔴 again",
        "The test only fails on Tuesdays",
        "Standup in five minutes",
        "I'm in the train, the tunnel eats my messages",
        "Offline for an hour: 14 saves waiting, all went through",
        "ありがとう",
        "どういたしまして",
        "Danke, läuft",
        "Ça marche chez moi",
        "Готово",
        "完成了 👍",
        "شكرا جزيلا",
        "The café's Wi-Fi drops every POST over 1 MB",
        "Numbers: 1,940 messages, 212 changed since Friday",
        "Can somebody review the parser?",
        "Reviewed: two questions, one typo, zero blockers",
        "The limit is 200 operations in one request, not 400",
        "400 is the native one, 200 is the web one",
        "Does anyone have the device that crashes?",
        "It's the old one with the cracked screen",
        "👩‍💻👨🏽‍💻",
        "Naïve question: why two tokens?",
        "One says which zones, the other says what in the zone",
        "That is a good explanation, please put it in the wiki",
        "I'll be late",
        "TestFlight build 318 is out",
        "319 is out, forget 318",
    ]

    static let lunch = [
        "Lunch at 12:30?", "12:45 and I'm in", "Ramen 🍜", "Not ramen again", "The new place has a terrace ☀️", "Raining, bring umbrellas ☔️",
        "I'm vegetarian since Monday", "Since Monday? 😄", "They only take cash", "I owe Grace 8.50", "Paid, thanks", "Table for five under my name",
        "Falafel?", "Falafel.", "今日はカレー", "On attend Mary", "Soup of the day: pumpkin", "Dessert is on me 🍰",
    ]

    static let family = [
        "Good night, everybody 🌙", "Did you feed the cat?", "Twice. She lied to us both 🐈", "Grandma's birthday is on the 14th 🎂",
        "Who brings the cake?", "The train is 40 minutes late", "We are at the lake, look!", "The little one lost a tooth 🦷",
        "Which tooth?", "Upper left. She wants an invoice", "Please buy stamps", "The key is under the blue pot",
        "Schöne Grüße aus den Bergen 🏔️", "Bonjour de Bretagne, il pleut", "Call me when you are home", "Home ✅", "Happy new year! 🎆",
        "The recipe: 500 g flour, 7 g yeast, 10 g salt, water and patience", "It rose over the edge of the bowl again", "Photo, please",
        "Grandpa found his glasses. In the fridge", "Whose turn is it to call the plumber?", "Mine, he comes on Thursday between 8 and 18 o'clock",
        "That is not a time, that is a season", "Miss you all ❤️", "🏡➡️🏖️",
    ]

    static let books = [
        "Finished chapter 4", "No spoilers past page 200, please", "The translator deserves a prize", "I listened to it, does that count?",
        "It counts", "Second reading, better than the first", "The map on the first page is wrong", "Quote of the week: ‘all models are wrong’",
        "Next month something shorter", "Something with fewer dragons", "Something with more dragons 🐉", "I gave up on page 31",
        "Give it until page 50", "At page 50: you were right", "坊っちゃん is shorter than you remember", "Vote: 3 for Lem, 2 for Le Guin",
        "The library has two copies", "Meeting moved to the 18th", "I bring tea", "Who still has my copy?",
    ]

    static let emoji = ["👍", "❤️", "😂", "🎉", "🙃", "👀", "🚀", "🫶🏽", "👩‍🔬", "🇯🇵"]

    /// A longer text, as an example of pasted content.
    static let minutes = """
        Minutes, as far as I could keep up.

        1. Sync. The first pull of a new device takes nine seconds for 48,210 changes; most of it is decoding on the device. Ada tries \
        fetching system fields first and bodies later.
        2. Conflicts. Two devices edited the same room title on a train. The later save was refused with a conflict, as it should be; the app \
        showed the error to the person, as it should not. Grace writes the merge: keep the newer title, keep both topics.
        3. Deletions. A room deletes its messages with it (DELETE_SELF). That stops at 750 references to one room, so rooms are closed and \
        opened anew before they get there. Mary counts.
        4. Schema. The index on Message.author is still missing in development. Whoever needs it first adds it and says so here.
        5. Names. Zoë, Łukasz, 太郎 and O'Brien all sort where they should now. The one with the zero-width joiner does not, and nobody could \
        say where it should.

        Next time on Thursday, same link.
        """
}
