internal import Records

extension Signature {
    /// The device that saved, where that is known: the server itself is none.
    var device: String? { deviceID.isEmpty || deviceID == "iCloud" ? nil : deviceID }

    /// ` on phone`, to be put behind the user's name; nothing where no device is known.
    var onDevice: String { device.map { " on \($0)" } ?? "" }
}
