#ifndef SLUICE_GRAPH_BASE_HASH_TABLE_H_
#define SLUICE_GRAPH_BASE_HASH_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

// Note [Hash tables]
//
// Abseil's flat tables do not survive an exception. Growing sets the capacity before it allocates: when that throws,
// the next look-up reads, and the destructor frees, memory that is not the table's. Inserting marks a slot as full
// before it makes the element: when a copied string or a tree node throws, the destructor destroys an element that does
// not exist. Nearly all of our tables live in code that returns a status when memory runs out, so HashMap and HashSet
// are Abseil's tables with two changes:
// - They grow into a second table that is dropped, not destroyed, when it gets no memory.
// - An element whose construction may throw is made before its slot.
// So an insertion that throws changes nothing, and everything else is as with Abseil: look-up of strings by
// string_view, iterators and references that the next insertion may end.
//
// tests/lint/check_layers.py refuses Abseil's tables outside of this file (tools and tests may use them: their
// processes end where memory ends). Its trees lose memory in the same case: use std::map and std::set.

namespace sluice {

// The base of both. `Table` is absl::flat_hash_map or absl::flat_hash_set.
template <typename Table>
class HashTable {
 public:
  using key_type = typename Table::key_type;
  using value_type = typename Table::value_type;
  using iterator = typename Table::iterator;
  using const_iterator = typename Table::const_iterator;
  static_assert(std::is_nothrow_move_constructible_v<typename Table::init_type>, "elements move when the table grows");

  HashTable() = default;
  HashTable(const HashTable& other) {
    reserve(other.size());
    for (const auto& item : other.table_) Insert(typename Table::init_type(item));
  }
  HashTable(HashTable&& other) noexcept : table_(std::move(other.table_)), room_(std::exchange(other.room_, 0)) {}
  HashTable& operator=(const HashTable& other) {
    HashTable copy(other);
    swap(copy);
    return *this;
  }
  HashTable& operator=(HashTable&& other) noexcept {
    HashTable taken(std::move(other));
    swap(taken);
    return *this;
  }

  void swap(HashTable& other) noexcept {
    table_.swap(other.table_);
    std::swap(room_, other.room_);
  }

  iterator begin() { return table_.begin(); }
  const_iterator begin() const { return table_.begin(); }
  iterator end() { return table_.end(); }
  const_iterator end() const { return table_.end(); }
  size_t size() const { return table_.size(); }
  bool empty() const { return table_.empty(); }

  template <typename K = key_type>
  iterator find(const K& key) {
    return table_.find(key);
  }
  template <typename K = key_type>
  const_iterator find(const K& key) const {
    return table_.find(key);
  }
  template <typename K = key_type>
  bool contains(const K& key) const {
    return table_.contains(key);
  }
  template <typename K = key_type>
  size_t count(const K& key) const {
    return table_.contains(key) ? 1 : 0;
  }

  // As Abseil's: returns no iterator, so that it need not search the next one.
  void erase(iterator item) { table_.erase(item); }
  void erase(const_iterator item) { table_.erase(item); }
  template <typename K = key_type>
  size_t erase(const K& key) {
    return table_.erase(key);
  }
  void clear() {
    table_.clear();
    room_ = RoomOf(table_.capacity());
  }

  // Makes room for `size` elements in all.
  void reserve(size_t size) {
    if (size > table_.size() + room_) Rebuild(size);
  }

  friend bool operator==(const HashTable& a, const HashTable& b) { return a.table_ == b.table_; }
  friend bool operator!=(const HashTable& a, const HashTable& b) { return !(a == b); }

 protected:
  // Call it before each insertion.
  void MakeRoom() {
    if (room_ == 0) Rebuild(std::max<size_t>(3, 2 * table_.size()));
  }
  // Inserts by `insert(table)`, which does not throw where there is room, and returns an iterator and whether it is
  // new.
  template <typename Insertion>
  std::pair<iterator, bool> InsertWithRoom(Insertion insert) {
    MakeRoom();
    const std::pair<iterator, bool> result = insert(table_);
    if (result.second) --room_;
    return result;
  }
  std::pair<iterator, bool> Insert(typename Table::init_type&& item) {
    return InsertWithRoom([&](Table& table) { return table.insert(std::move(item)); });
  }

 private:
  // How many elements a table of a capacity takes without growing. (With 7 slots, on some processors, it is one less.)
  static size_t RoomOf(size_t capacity) { return capacity == 7 ? 6 : capacity - capacity / 8; }

  [[gnu::noinline]] void Rebuild(size_t size) {
    alignas(Table) unsigned char memory[sizeof(Table)];
    auto* const table = ::new (static_cast<void*>(memory)) Table();
    table->reserve(size == 7 ? 8 : size);  // If it throws, the table owns nothing, and must not be destroyed.
    table->merge(table_);
    table_.swap(*table);
    std::destroy_at(table);
    room_ = RoomOf(table_.capacity()) - table_.size();
  }

  Table table_;
  // As many insertions do not make the table grow. (Slots of erased elements are not counted: they may not be free.)
  size_t room_ = 0;
};

// A table of values by key, as absl::flat_hash_map. See Note [Hash tables]. Owns its elements; as thread-safe as std's.
template <typename Key, typename Value, typename Hash = typename absl::flat_hash_map<Key, Value>::hasher,
          typename Equal = typename absl::flat_hash_map<Key, Value, Hash>::key_equal>
class HashMap : public HashTable<absl::flat_hash_map<Key, Value, Hash, Equal>> {
  using Base = HashTable<absl::flat_hash_map<Key, Value, Hash, Equal>>;

 public:
  using mapped_type = Value;
  using typename Base::const_iterator;
  using typename Base::iterator;

  HashMap() = default;
  HashMap(std::initializer_list<std::pair<Key, Value>> items) {
    this->reserve(items.size());
    for (const auto& [key, value] : items) try_emplace(key, value);
  }

  // Does not use `value` if the key exists.
  template <typename K = Key, typename... Args>
  std::pair<iterator, bool> try_emplace(K&& key, Args&&... value) {
    if constexpr (std::is_nothrow_constructible_v<Key, K&&> && std::is_nothrow_constructible_v<Value, Args&&...>) {
      return this->InsertWithRoom(
          [&](auto& table) { return table.try_emplace(std::forward<K>(key), std::forward<Args>(value)...); });
    } else {
      if (const iterator found = this->find(key); found != this->end()) return {found, false};
      return this->Insert({std::piecewise_construct, std::forward_as_tuple(std::forward<K>(key)),
                           std::forward_as_tuple(std::forward<Args>(value)...)});
    }
  }
  template <typename K = Key, typename V = Value>
  std::pair<iterator, bool> emplace(K&& key, V&& value) {
    return try_emplace(std::forward<K>(key), std::forward<V>(value));
  }
  std::pair<iterator, bool> insert(std::pair<Key, Value> item) {
    return try_emplace(std::move(item.first), std::move(item.second));
  }
  template <typename Iterator>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) try_emplace(first->first, first->second);
  }
  template <typename K = Key, typename V = Value>
  std::pair<iterator, bool> insert_or_assign(K&& key, V&& value) {
    const std::pair<iterator, bool> result = try_emplace(std::forward<K>(key), std::forward<V>(value));
    if (!result.second) result.first->second = std::forward<V>(value);  // Not used before.
    return result;
  }
  template <typename K = Key>
  Value& operator[](K&& key) {
    return try_emplace(std::forward<K>(key)).first->second;
  }
  // Throws std::out_of_range if the key is missing.
  template <typename K = Key>
  const Value& at(const K& key) const {
    const const_iterator found = this->find(key);
    if (found == this->end()) throw std::out_of_range("HashMap::at");
    return found->second;
  }
  template <typename K = Key>
  Value& at(const K& key) {
    return const_cast<Value&>(std::as_const(*this).at(key));
  }
};

// A set, as absl::flat_hash_set. See Note [Hash tables]. Owns its elements; as thread-safe as std's.
template <typename Key, typename Hash = typename absl::flat_hash_set<Key>::hasher,
          typename Equal = typename absl::flat_hash_set<Key, Hash>::key_equal>
class HashSet : public HashTable<absl::flat_hash_set<Key, Hash, Equal>> {
  using Base = HashTable<absl::flat_hash_set<Key, Hash, Equal>>;

 public:
  using typename Base::const_iterator;
  using typename Base::iterator;

  HashSet() = default;
  HashSet(std::initializer_list<Key> items) : HashSet(items.begin(), items.end()) {}
  template <typename Iterator>
  HashSet(Iterator first, Iterator last) {
    insert(first, last);
  }

  template <typename K>
  std::pair<iterator, bool> emplace(K&& key) {
    if constexpr (std::is_nothrow_constructible_v<Key, K&&>) {
      return this->InsertWithRoom([&](auto& table) { return table.emplace(std::forward<K>(key)); });
    } else {
      if (const iterator found = this->find(key); found != this->end()) return {found, false};
      return this->Insert(Key(std::forward<K>(key)));
    }
  }
  template <typename K = Key>
  std::pair<iterator, bool> insert(K&& key) {
    return emplace(std::forward<K>(key));
  }
  template <typename Iterator>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) emplace(*first);
  }
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_HASH_TABLE_H_
