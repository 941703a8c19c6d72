internal import Records

/// The history of one zone of the chat app, in chronological order.
struct ChatZoneDemo {
    private struct Message {
        let name: Name
        let room: ChatDemo.Room
        let sentAt: Timestamp
        let author: Name
        let text: String
    }

    let user: Name
    let zoneID: ZoneID
    let seed: UInt64

    private var rooms: [ChatDemo.Room] { ChatDemo.rooms.filter { $0.zone == zoneID.zoneName } }

    var events: [DemoEvent] {
        var random = DemoRandom(seed: seed)
        let start = rooms.map(\.first).min() ?? ChatDemo.end
        let members = Set(rooms.flatMap(\.members))
        let people = ChatDemo.members.filter { members.contains($0.name) }
        // Each zone has a record of the person, but the bytes of the portrait are stored only once.
        let portraits = people.map { DemoAttachment.one(.picture(Self.key(of: $0.name)), "portrait", of: $0.name) }
        var events = [
            save(
                people.map { .put("Person", $0.name, $0.fields) }, with: portraits, at: start.adding(minutes: -10),
                on: ChatDemo.devices[1])
        ]
        for room in rooms {
            events.append(save([roomRecord(room, messages: [])], at: room.first, on: ChatDemo.devices[1]))
        }

        var said: [Name: [Message]] = [:]
        var year = 0
        for conversation in rooms.flatMap({ Self.conversations(in: $0, &random) }).sorted(by: {
            $0[0].sentAt < $1[0].sentAt
        }) {
            let moment = conversation[conversation.count - 1].sentAt.adding(seconds: 2)
            events.append(
                save(conversation.map { record(of: $0, &random) }, at: moment, on: random.pick(ChatDemo.devices)))
            if let reactions = reactions(to: conversation, at: moment, &random) { events.append(reactions) }
            said[conversation[0].room.name, default: []] += conversation
            // Saves the rooms again once a year with their counts, so that the feed has parents after their children.
            let years = Int((moment.milliseconds - start.milliseconds) / 31_557_600_000)
            if years > year {
                year = years
                let open = rooms.filter { $0.first < moment && $0.closed.map { $0 > moment.adding(days: 1) } ?? true }
                events.append(
                    save(
                        open.map { roomRecord($0, messages: said[$0.name] ?? []) }, at: moment.adding(minutes: 30),
                        on: ChatDemo.devices[1]))
            }
        }
        for (room, message, attachments) in messagesWithFiles {
            let operation = record(of: message, &random)
            events.append(
                save([operation], with: attachments, at: message.sentAt.adding(seconds: 2), on: ChatDemo.devices[0]))
            said[room, default: []].append(message)
        }
        for room in rooms {
            if let closed = room.closed {
                events.append(save([.remove(room.name)], at: closed, on: ChatDemo.devices[1]))
            }
        }
        return events + lastDay(said.filter { name, _ in rooms.contains { $0.name == name && $0.closed == nil } })
    }

    private func save(
        _ operations: [RecordOperation], with attachments: [DemoAttachment] = [], at moment: Timestamp,
        on device: String
    ) -> DemoEvent {
        .save(operations, with: attachments, in: zoneID, as: user, on: device, at: moment)
    }

    /// `ada` of `Person/ada`.
    private static func key(of person: Name) -> String {
        String(person.string.drop { $0 != "/" }.dropFirst())
    }

    /// The last messages in some rooms, each with files.
    private var messagesWithFiles: [(room: Name, message: Message, attachments: [DemoAttachment])] {
        ChatDemo.filesSent.enumerated().compactMap { index, sent in
            guard let room = rooms.first(where: { $0.name == sent.room }) else { return nil }
            let message = Message(
                name: sent.name, room: room, sentAt: room.last.adding(minutes: 2 + index), author: sent.author,
                text: sent.text)
            return (sent.room, message, sent.attachments.map { $0(sent.name) })
        }
    }

    private func roomRecord(_ room: ChatDemo.Room, messages: [Message]) -> RecordOperation {
        var fields: [Name: FieldValue] = [
            "title": .string(room.title), "topic": .string(room.topic), "openedAt": .timestamp(room.first),
            "messageCount": .int64(Int64(messages.count)),
            "members": .list(room.members.map { .link($0) }, of: .reference),
            "milestones": .list(
                messages.enumerated().filter { $0.offset % 100 == 99 }.map { .timestamp($0.element.sentAt) },
                of: .timestamp),
        ]
        if let last = messages.last { fields["lastMessageAt"] = .timestamp(last.sentAt) }
        if room.name == "Room/lunch" {
            fields["meetingPoints"] = .list([.place(51.5245, -0.1340), .place(51.5194, -0.1270)], of: .location)
        }
        return .put("Room", room.name, fields)
    }

    // MARK: Messages

    /// Bursts of messages, spread over the room's years.
    private static func conversations(in room: ChatDemo.Room, _ random: inout DemoRandom) -> [[Message]] {
        var conversations: [[Message]] = []
        var remaining = room.messages
        let span = room.last.milliseconds - room.first.milliseconds
        while remaining > 0 {
            let count = min(remaining, random.number(in: 12...30))
            let done = Double(room.messages - remaining) / Double(room.messages)
            var moment = room.first.adding(seconds: Int(Double(span) * done / 1000) + random.number(below: 36_000))
            conversations.append(
                (0..<count).map { _ in
                    moment = moment.adding(seconds: random.number(in: 9...400))
                    return Message(
                        name: random.uuid(), room: room, sentAt: moment, author: random.pick(room.members),
                        text: random.pick(room.texts))
                })
            remaining -= count
        }
        return conversations
    }

    private func record(of message: Message, _ random: inout DemoRandom) -> RecordOperation {
        var text = message.text
        if message.room.name == "Room/sync", random.isTrue(oneIn: 60) { text = DemoText.minutes }
        var fields: [Name: FieldValue] = [
            "text": .string(text), "room": .link(message.room.name, .deleteSelf), "author": .link(message.author),
            "sentAt": .timestamp(message.sentAt), "size": .int64(Int64(text.utf8.count)),
            "sentiment": .double(Double(random.number(in: -1000...1000)) / 1000),
        ]
        if random.isTrue(oneIn: 9) {
            fields["mentions"] = .list([.link(random.pick(message.room.members))], of: .reference)
        }
        if random.isTrue(oneIn: 12) {
            var place = Location(latitude: 51.5 + random.fraction() / 10, longitude: -0.2 + random.fraction() / 5)
            place.horizontalAccuracy = 5
            place.timestamp = message.sentAt
            fields["place"] = .location(place)
        }
        if text == "Screenshot" || text == "Receipt attached" { fields["preview"] = .bytes(random.bytes(96)) }
        if random.isTrue(oneIn: 40) {
            fields["waveform"] = .list((0..<8).map { _ in .double(random.fraction()) }, of: .double)
        }
        if random.isTrue(oneIn: 50) {
            fields["keys"] = .list([.bytes(random.bytes(16)), .bytes(random.bytes(16))], of: .bytes)
        }
        if random.isTrue(oneIn: 80) { fields["isPinned"] = .int64(1) }
        return .put("Message", message.name, parent: message.room.name, fields)
    }

    private func reactions(to conversation: [Message], at moment: Timestamp, _ random: inout DemoRandom) -> DemoEvent? {
        var reactions: [RecordOperation] = []
        for message in conversation where random.isTrue(oneIn: 7) {
            reactions.append(
                .put(
                    "Reaction", random.uuid(), parent: message.name,
                    [
                        "emoji": .string(random.pick(DemoText.emoji)), "message": .link(message.name, .deleteSelf),
                        "author": .link(random.pick(message.room.members)),
                    ]))
        }
        if reactions.isEmpty { return nil }
        return save(reactions, at: moment.adding(minutes: random.number(in: 1...90)), on: random.pick(ChatDemo.devices))
    }

    /// Edits, which place messages after their reactions in the feed, then deletions, then a final save of the rooms.
    private func lastDay(_ said: [Name: [Message]]) -> [DemoEvent] {
        var events: [DemoEvent] = []
        var moment = ChatDemo.end.adding(hours: 8)
        for room in rooms {
            guard let messages = said[room.name] else { continue }
            var edits: [RecordOperation] = []
            var deletions: [RecordOperation] = []
            for (index, message) in messages.enumerated() {
                if index % 23 == 11 {
                    edits.append(
                        .change(
                            "Message", message.name,
                            ["text": .string(message.text + " (edited)"), "editedAt": .timestamp(moment)]))
                } else if index % 31 == 7 {
                    deletions.append(.remove(message.name))
                }
            }
            events.append(save(edits, at: moment, on: ChatDemo.devices[2]))
            events.append(save(deletions, at: moment.adding(minutes: 17), on: ChatDemo.devices[0]))
            events.append(
                save([roomRecord(room, messages: messages)], at: moment.adding(minutes: 20), on: ChatDemo.devices[1]))
            moment = moment.adding(minutes: 31)
        }
        return events
    }
}
