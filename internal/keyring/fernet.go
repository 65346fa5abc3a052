package keyring

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"
)

// The parts of a token (fernet/spec, "Token Format"): version, time of
// sealing, IV, ciphertext, HMAC of all before it.
const (
	version  = 0x80
	ivAt     = 1 + 8
	cipherAt = ivAt + aes.BlockSize
	shortest = cipherAt + aes.BlockSize + sha256.Size
)

// key is a Fernet key.
type key struct {
	sign  []byte
	block cipher.Block
}

// newKey makes a key of 32 bytes.
func newKey(b []byte) key {
	block, err := aes.NewCipher(b[16:32])
	if err != nil {
		panic("keyring: " + err.Error()) // 16 bytes are a key
	}
	return key{sign: b[:16], block: block}
}

func (k *key) seal(value []byte) string {
	iv := make([]byte, aes.BlockSize)
	rand.Read(iv) // never fails (crypto/rand)
	return k.sealAt(value, time.Now(), iv)
}

func (k *key) sealAt(value []byte, at time.Time, iv []byte) string {
	pad := aes.BlockSize - len(value)%aes.BlockSize
	t := make([]byte, cipherAt+len(value)+pad, shortest+len(value)+pad)
	t[0] = version
	binary.BigEndian.PutUint64(t[1:], uint64(at.Unix()))
	copy(t[ivAt:], iv)
	body := t[cipherAt:]
	copy(body, value)
	for i := len(value); i < len(body); i++ {
		body[i] = byte(pad) // PKCS #7
	}
	cipher.NewCBCEncrypter(k.block, iv).CryptBlocks(body, body)
	return base64.URLEncoding.EncodeToString(append(t, k.mac(t)...))
}

// parse decodes the base64 of a token. The time is ignored: stored values do not
// expire.
func parse(token string) ([]byte, bool) {
	t, err := base64.URLEncoding.Strict().DecodeString(token)
	if err != nil || len(t) < shortest || t[0] != version || (len(t)-shortest)%aes.BlockSize != 0 {
		return nil, false
	}
	return t, true
}

// open returns the value of a parsed token, if it is one of this key.
func (k *key) open(t []byte) ([]byte, bool) {
	signed, mac := t[:len(t)-sha256.Size], t[len(t)-sha256.Size:]
	if !hmac.Equal(mac, k.mac(signed)) {
		return nil, false
	}
	body := make([]byte, len(signed)-cipherAt)
	cipher.NewCBCDecrypter(k.block, signed[ivAt:cipherAt]).CryptBlocks(body, signed[cipherAt:])
	// The rest is signed, so the way it fails reveals nothing.
	pad := int(body[len(body)-1])
	if pad == 0 || pad > aes.BlockSize {
		return nil, false
	}
	for _, b := range body[len(body)-pad:] {
		if int(b) != pad {
			return nil, false
		}
	}
	return body[:len(body)-pad], true
}

func (k *key) mac(b []byte) []byte {
	h := hmac.New(sha256.New, k.sign)
	h.Write(b)
	return h.Sum(nil)
}
