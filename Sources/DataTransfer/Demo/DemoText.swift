internal import Records

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
        "Lunch at 12:30?", "12:45 and I'm in", "Ramen 🍜", "Not ramen again", "The new place has a terrace ☀️",
        "Raining, bring umbrellas ☔️",
        "I'm vegetarian since Monday", "Since Monday? 😄", "They only take cash", "I owe Grace 8.50", "Paid, thanks",
        "Table for five under my name",
        "Falafel?", "Falafel.", "今日はカレー", "On attend Mary", "Soup of the day: pumpkin", "Dessert is on me 🍰",
    ]

    static let family = [
        "Good night, everybody 🌙", "Did you feed the cat?", "Twice. She lied to us both 🐈",
        "Grandma's birthday is on the 14th 🎂",
        "Who brings the cake?", "The train is 40 minutes late", "We are at the lake, look!",
        "The little one lost a tooth 🦷",
        "Which tooth?", "Upper left. She wants an invoice", "Please buy stamps", "The key is under the blue pot",
        "Schöne Grüße aus den Bergen 🏔️", "Bonjour de Bretagne, il pleut", "Call me when you are home", "Home ✅",
        "Happy new year! 🎆",
        "The recipe: 500 g flour, 7 g yeast, 10 g salt, water and patience", "It rose over the edge of the bowl again",
        "Photo, please",
        "Grandpa found his glasses. In the fridge", "Whose turn is it to call the plumber?",
        "Mine, he comes on Thursday between 8 and 18 o'clock",
        "That is not a time, that is a season", "Miss you all ❤️", "🏡➡️🏖️",
    ]

    static let books = [
        "Finished chapter 4", "No spoilers past page 200, please", "The translator deserves a prize",
        "I listened to it, does that count?",
        "It counts", "Second reading, better than the first", "The map on the first page is wrong",
        "Quote of the week: ‘all models are wrong’",
        "Next month something shorter", "Something with fewer dragons", "Something with more dragons 🐉",
        "I gave up on page 31",
        "Give it until page 50", "At page 50: you were right", "坊っちゃん is shorter than you remember",
        "Vote: 3 for Lem, 2 for Le Guin",
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

// MARK: - Records and values

extension RecordOperation {
    /// Creates or replaces a record unconditionally.
    static func put(_ recordType: Name, _ recordName: Name, parent: Name? = nil, _ fields: [Name: FieldValue])
        -> RecordOperation
    {
        RecordOperation(
            .forceReplace, recordName: recordName, recordType: recordType, fields: fields.mapValues { FieldInput($0) },
            parent: parent.map { .record($0) } ?? .cleared)
    }

    /// Sets some fields of a record unconditionally, and its parent if one is given.
    static func change(_ recordType: Name, _ recordName: Name, parent: Name? = nil, _ fields: [Name: FieldValue])
        -> RecordOperation
    {
        RecordOperation(
            .forceUpdate, recordName: recordName, recordType: recordType, fields: fields.mapValues { FieldInput($0) },
            parent: parent.map { .record($0) } ?? .unchanged)
    }

    static func remove(_ recordName: Name) -> RecordOperation {
        RecordOperation(.forceDelete, recordName: recordName)
    }

    /// Shares a record with all records below it; without a record, the whole zone. The guests still have to accept.
    static func share(
        _ root: Name?, titled title: String, as recordName: Name, with guests: KeyValuePairs<Name, SharePermission>
    ) -> RecordOperation {
        var operation = RecordOperation(
            .create, recordName: recordName, recordType: Share.recordType,
            fields: ["cloudkit.title": FieldInput(.string(title))])
        operation.share = ShareInput(
            root: root.map { ShareInput.Root(recordName: $0, recordChangeTag: nil) },
            publicPermission: SharePermission.none,
            participants: guests.map { user, permission in
                ShareParticipant(
                    participantID: "Guest/\(user)", lookupInfo: LookupInfo(userRecordName: user), permission: permission
                )
            })
        return operation
    }
}

extension FieldValue {
    static func link(_ recordName: Name, _ action: Reference.Action = .none) -> FieldValue {
        .reference(Reference(recordName: recordName, action: action))
    }

    static func strings(_ strings: [String]) -> FieldValue {
        .list(strings.map { .string($0) }, of: .string)
    }

    static func place(_ latitude: Double, _ longitude: Double) -> FieldValue {
        .location(Location(latitude: latitude, longitude: longitude))
    }
}

extension Timestamp {
    /// A date and time in UTC. A date that does not exist counts as 1 January 1970.
    init(_ year: Int64, _ month: Int64, _ day: Int64, _ hour: Int64 = 12, _ minute: Int64 = 0) {
        self.init(
            milliseconds: ((CivilDate(year: year, month: month, day: day)?.daysSince1970 ?? 0) * 1440 + hour * 60
                + minute) * 60_000)
    }

    func adding(days: Int = 0, hours: Int = 0, minutes: Int = 0, seconds: Int = 0) -> Timestamp {
        Timestamp(milliseconds: milliseconds + Int64(((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
    }
}

// MARK: - Chance

/// A deterministic random number generator (SplitMix64, Steele, Lea and Flood 2014).
struct DemoRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    // Implemented here because the standard library does not specify how it uses a generator.

    mutating func number(below limit: Int) -> Int {
        Int(next() % UInt64(max(1, limit)))
    }

    mutating func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + number(below: range.count)
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[number(below: elements.count)]
    }

    mutating func isTrue(oneIn chances: Int) -> Bool {
        number(below: chances) == 0
    }

    /// A fraction from 0 to 1 in steps of a thousandth.
    mutating func fraction() -> Double {
        Double(number(below: 1001)) / 1000
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }

    /// A record name in CloudKit's format: an upper-case UUID.
    mutating func uuid() -> Name {
        let digits = bytes(16).map { String($0, digits: 2, radix: 16, uppercase: true) }
        let groups = [digits[0..<4], digits[4..<6], digits[6..<8], digits[8..<10], digits[10..<16]]
        return Name(groups.map { $0.joined() }.joined(separator: "-"))
    }
}
