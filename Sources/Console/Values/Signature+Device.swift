internal import Records

extension Signature {
    /// The device that saved the record; `nil` if it is unknown or the server itself.
    package var device: String? { deviceID.isEmpty || deviceID == "iCloud" ? nil : deviceID }

    /// ` on phone`, to append to the user's name; empty if the device is unknown.
    package var onDevice: String { device.map { " on \($0)" } ?? "" }
}
